"""
A quantum service of our own: the Qiskit Runtime REST API, with a simulator behind it.

``service`` is what it is about (jobs, sessions, their states), ``server`` the HTTP in front of
it, ``accounts`` who may come in, ``devices`` what can be computed with. ``engine`` hands jobs to
a ``worker``, a process of its own and the only place where Qiskit is imported. Everything is in
memory: a gateway that is started anew has forgotten its jobs.
"""
