"""
Gateways: services that answer under an API that managers speak, for places that have none.

They know nothing of jobs as Bascule has them, nor of any manager or platform.
"""
