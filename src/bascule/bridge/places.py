"""Where objects live, as the bridge uses it: both ports, and who keeps the jobs moving."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, Protocol

from bascule.errors import Mistake
from bascule.ports import Front, Platform

PlatformName = Literal["embedded", "kubernetes"]


class Mover(Protocol):
    """Whoever keeps the jobs moving, in another process."""

    @property
    def pid(self) -> int:
        """Return its process; 0 where it is none of this machine."""

    @property
    def is_stopped(self) -> bool:
        """Tell whether it is stopped, so that nothing moves."""


class Place(Front, Platform, Protocol):
    """A store of the embedded platform, or a cluster."""

    @property
    def home(self) -> Path:
        """Return the folder for what managers keep besides."""

    def driver(self) -> Mover | None:
        """Return who moves the jobs; None where nobody does."""

    async def lead(self) -> bool:
        """Take the right to move them, without waiting."""

    def resign(self) -> None:
        """Give it back."""


def platform_from(named: str | None) -> PlatformName:
    """
    Return the platform: the one *named*, `$BASCULE_PLATFORM`, or the cluster in whose pod this runs.

    Raises `Mistake` where there is no such platform.
    """
    name = named or os.environ.get("BASCULE_PLATFORM")
    if not name and "KUBERNETES_SERVICE_HOST" in os.environ:
        from bascule.clients.kube import is_in_cluster

        name = "kubernetes" if is_in_cluster() else None
    name = name or "embedded"
    if name == "embedded":
        return "embedded"
    if name == "kubernetes":
        return "kubernetes"
    raise Mistake(f"there is no platform `{name}`", hint="there are: embedded, kubernetes")


def namespace_of(platform: PlatformName, named: str | None = None) -> str:
    """Return where objects are meant to be that name no namespace."""
    if platform == "embedded":
        return named or "default"
    from bascule.clients.kube import access_from_environment

    return named or access_from_environment().namespace
