"""
The composition root: the only module that joins the core with its adapters.

Managers are found by name: a module of `bascule.managers`, or an entry point of the
group `bascule.managers` in an outside package. Either has a function ``connect``.
"""

from __future__ import annotations

import asyncio
import difflib
import importlib
import importlib.metadata
import importlib.util
import pkgutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from bascule import managers
from bascule.clients.addresses import AddressPolicy, Borders
from bascule.connections import Connect
from bascule.errors import Mistake, Unauthorized
from bascule.model import Target
from bascule.ports import Abilities, Clock, Manager, Platform

ENTRY_POINTS = "bascule.managers"


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """Return the time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never jump."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class Surroundings(Protocol):
    """What a manager may need of the place it is used in."""

    @property
    def home(self) -> Path:
        """Return the folder for what must outlive the process."""

    @property
    def clock(self) -> Clock:
        """Return the time."""

    def policy(self, allow: tuple[str, ...]) -> AddressPolicy:
        """Return which addresses a target may have whose owner allows the networks *allow*; raises `Mistake`."""

    async def secret(self, namespace: str, name: str, key: str) -> str:
        """Return one value of a secret."""


OWN_MACHINE = Borders(inner=True)
"""Of a place where whoever makes targets can go to its networks anyway."""


class _Place:
    def __init__(self, home: Path, platform: Platform, clock: Clock, borders: Borders) -> None:
        self.home = home
        self.clock = clock
        self.policy = borders.policy
        self._platform = platform

    async def secret(self, namespace: str, name: str, key: str) -> str:
        try:
            return await self._platform.secret(namespace, name, key)
        except Mistake as missing:
            # A credential that is not there (yet) is no job's mistake: jobs wait until it is.
            raise Unauthorized(missing.message, hint=missing.hint) from missing


class ManagerModule(Protocol):
    """
    What a manager's module offers.

    *abilities* are the most that it can do, for people who choose; each manager says for
    itself what it can do where it is. What some of it depends on may stand in a mapping
    ``conditions``, from the ability's name to a few words.
    """

    abilities: Abilities

    def connect(self, target: Target, namespace: str, place: Surroundings) -> Manager:
        """Return the manager of *target*, for jobs of *namespace*; raise `Mistake` where its spec is wrong. No I/O."""


def manager_names() -> list[str]:
    """Return the names of all managers that are installed."""
    own = [found.name for found in pkgutil.iter_modules(managers.__path__) if not found.name.startswith("_")]
    outside = [point.name for point in importlib.metadata.entry_points(group=ENTRY_POINTS)]
    return sorted({*own, *outside})


def manager_named(name: str) -> ManagerModule:
    """Return the module of the manager *name*; raise `Mistake` where there is none."""
    if (
        name.isidentifier()
        and not name.startswith("_")
        and importlib.util.find_spec(f"bascule.managers.{name}") is not None
    ):
        return importlib.import_module(f"bascule.managers.{name}")
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS, name=name):
        module: ManagerModule = point.load()
        return module
    near = difflib.get_close_matches(name, manager_names(), n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(manager_names())}"
    raise Mistake(f"there is no manager `{name}`", hint=hint)


def connector(home: Path, platform: Platform, clock: Clock, borders: Borders = OWN_MACHINE) -> Connect:
    """Return the function by which the core makes managers."""
    place = _Place(home, platform, clock, borders)

    async def connect(target: Target, namespace: str) -> Manager:
        return manager_named(target.spec.manager).connect(target, namespace, place)

    return connect
