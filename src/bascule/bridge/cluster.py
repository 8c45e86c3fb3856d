"""A cluster as the bridge uses it: its operator moves the jobs, and this process only writes wishes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bascule.bridge.places import Mover
from bascule.clients.kube import access_from_environment
from bascule.platforms.kubernetes import Settings, Store
from bascule.platforms.kubernetes.opening import opened
from bascule.ports import Clock


class Operated:
    """The cluster's operator, as those see it who only write wishes."""

    pid = 0
    is_stopped = False

    def __str__(self) -> str:
        """As people say it."""
        return "the cluster's operator"


class ClusterPlace(Store):
    """A cluster whose jobs its operator moves, and this process never."""

    home: Path

    def driver(self) -> Mover | None:
        """Return the operator; whether it is up is not asked."""
        return Operated()

    async def lead(self) -> bool:
        """Leave it to the operator."""
        return False

    def resign(self) -> None:
        """Have nothing to give back."""


@asynccontextmanager
async def cluster_place(clock: Clock, namespace: str) -> AsyncIterator[ClusterPlace]:
    """Open the cluster that the kubeconfig, or the pod, names."""
    settings = Settings(namespace=namespace, watched=namespace)
    with TemporaryDirectory(prefix="bascule-") as folder:
        async with opened(ClusterPlace, access_from_environment(), clock, settings) as place:
            place.home = Path(folder)
            yield place
