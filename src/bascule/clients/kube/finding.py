"""
Finding the cluster: the pod we run in, or a kubeconfig (``kubeconfig``).

A server's certificate is always verified.
"""

from __future__ import annotations

import os
from pathlib import Path

from bascule.clients.kube.access import Access
from bascule.clients.kube.kubeconfig import access_of_files
from bascule.errors import Mistake

IN_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_in_cluster() -> bool:
    """Tell whether this process runs in a pod that has a service account."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and (IN_POD / "token").exists()


def access_from_environment(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """
    Return how to reach the cluster: by *kubeconfig*, `$KUBECONFIG`, the pod, or ``~/.kube/config``.

    Raises `Mistake` where there is none, or it cannot be used.
    """
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    if not named and is_in_cluster():
        return _access_of_pod()
    # `~` would be asked for of a user that a container may not know.
    home = Path(os.environ.get("HOME") or "/")
    files = [Path(part) for part in named.split(os.pathsep) if part] or [home / ".kube/config"]
    return access_of_files(files, context)


def _access_of_pod() -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        return Access(
            server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
            ca=(IN_POD / "ca.crt").read_text(encoding="ascii"),
            namespace=(IN_POD / "namespace").read_text(encoding="utf-8").strip() or "default",
            token_file=IN_POD / "token",
        )
    except OSError as error:
        raise Mistake(
            f"the pod's service account cannot be read: {error.strerror}", hint="see `automountServiceAccountToken`"
        ) from error
