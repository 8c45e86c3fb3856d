"""
A client for the API server of a Kubernetes cluster: the few verbs that are needed here.

``access`` says where the API server is and who we are there, ``client`` asks it, ``faults``
says what its refusals mean, ``reflector`` follows what changes. They know nothing of jobs.
"""

from bascule.clients.kube.access import Access
from bascule.clients.kube.client import KubeClient
from bascule.clients.kube.faults import Rejected
from bascule.clients.kube.finding import access_from_environment, is_in_cluster
from bascule.clients.kube.meta import Meta
from bascule.clients.kube.reflector import Reflector

__all__ = ["Access", "KubeClient", "Meta", "Reflector", "Rejected", "access_from_environment", "is_in_cluster"]
