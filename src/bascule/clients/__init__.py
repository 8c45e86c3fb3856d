"""
Clients for what lies outside: they speak HTTP for managers and platforms, and know nothing of jobs.

``http`` asks once and says truthfully what came of it; ``addresses`` says where it may go,
``credentials`` with which token, ``pace`` how often, ``secrecy`` what must not be repeated.
"""
