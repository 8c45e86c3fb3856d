"""What things are called on the API server: groups, paths, annotations, the finalizer."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from bascule.model import Ref

GROUP = "bascule.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

FINALIZER = f"{GROUP}/outside"
"""Holds a job's object until its manager has confirmed that nothing of it is left outside."""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Where kubectl keeps the whole of what was applied: a second copy of each script, and nobody's business here."""

Kind = Literal["bridgejobs", "bridgetargets"]


def collection(kind: Kind, namespace: str | None = None) -> str:
    """Return the path of all objects of *kind*, in *namespace* or in all."""
    where = f"/namespaces/{_part(namespace)}" if namespace is not None else ""
    return f"/apis/{API_VERSION}{where}/{kind}"


def item(kind: Kind, ref: Ref, part: str = "") -> str:
    """Return the path of one object, or of a *part* of it (``status``)."""
    return f"{collection(kind, ref.namespace)}/{_part(ref.name)}{f'/{part}' if part else ''}"


def core(kind: str, namespace: str, name: str) -> str:
    """Return the path of an object of Kubernetes' own: ``secrets``, ``configmaps``, ``pods``."""
    return f"/api/v1/namespaces/{_part(namespace)}/{kind}/{_part(name)}"


def core_collection(kind: str, namespace: str) -> str:
    """Return the path of all objects of one of Kubernetes' own kinds in *namespace*."""
    return f"/api/v1/namespaces/{_part(namespace)}/{kind}"


def namespace_path(name: str) -> str:
    """Return the path of a namespace."""
    return f"/api/v1/namespaces/{_part(name)}"


def lease(namespace: str, name: str = "") -> str:
    """Return the path of a Lease, or of all of *namespace*."""
    return f"/apis/coordination.k8s.io/v1/namespaces/{_part(namespace)}/leases{f'/{_part(name)}' if name else ''}"


def events(namespace: str, name: str = "") -> str:
    """Return the path of an Event, or of all of *namespace*."""
    return f"/apis/events.k8s.io/v1/namespaces/{_part(namespace)}/events{f'/{_part(name)}' if name else ''}"


def _part(text: str) -> str:
    """Return *text* as one part of a path, whatever it is; ``..`` cannot be one."""
    return quote(text, safe="").replace(".", "%2E") if text in {".", ".."} else quote(text, safe="")
