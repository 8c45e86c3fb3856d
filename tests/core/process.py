"""
A process of Bascule inside a test: it can be killed without clean-up, frozen and thawed.

All it does goes through its clock, so that is where it stops: a dead process never gets
beyond its next await, and a frozen one waits there for as long as it takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from random import Random
from typing import Literal

from bascule.errors import Fenced
from bascule.model import Event, Job, Ref, Target
from bascule.ports import Manager
from bascule.runner import Pace, Runner
from tests.fakes.platform import MemoryPlatform, Objects
from tests.virtual import FakeClock

ManagerFor = Callable[["Gate", Target], Manager]


class Gate:
    """The clock of one process, through which nothing comes once it is dead."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._open = asyncio.Event()
        self._open.set()
        self.is_dead = False
        self.passes = 0
        self._stop: tuple[int, str] | None = None

    def stop_at(self, number: int, how: Literal["die", "freeze"]) -> None:
        """Let the process *die* or *freeze* when something passes here for that time."""
        self._stop = (number, how)

    @property
    def is_frozen(self) -> bool:
        """Tell whether nothing comes through at present."""
        return not self._open.is_set()

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._pass()
        await self._clock.sleep(seconds)
        await self._pass()

    def freeze(self) -> None:
        """Stop everything at its next await."""
        self._open.clear()

    def thaw(self) -> None:
        """Let everything go on as if nothing had been."""
        self._open.set()

    async def _pass(self) -> None:
        self.passes += 1
        if self._stop is not None and self.passes >= self._stop[0]:
            self.is_dead = self.is_dead or self._stop[1] == "die"
            self.freeze()
            self._stop = None
        while not self._open.is_set() and not self.is_dead:
            await self._open.wait()
        if self.is_dead:
            raise asyncio.CancelledError


class GatedPlatform(MemoryPlatform):
    """The platform as one process sees it: it takes over from whoever drove before, and stops at its gate."""

    def __init__(self, objects: Objects, gate: Gate) -> None:
        objects.epoch += 1
        super().__init__(gate, objects)
        self._gate = gate
        self.reads = 0
        """How often it read a job."""

    async def get(self, ref: Ref) -> Job | None:
        self.reads += 1
        await self._gate.sleep(0)
        return await super().get(ref)

    async def save(self, job: Job, events: Sequence[Event] = ()) -> Job:
        saved = await super().save(job, events)
        await self._gate.sleep(0)
        return saved

    async def _write(self, *, fenced: bool = False) -> None:
        await self._gate.sleep(0.001)
        await super()._write(fenced=fenced)


class Process:
    """One runner over stored objects."""

    def __init__(self, objects: Objects, clock: FakeClock, manager_for: ManagerFor, *, pace: Pace) -> None:
        self.gate = Gate(clock)
        self.platform = GatedPlatform(objects, self.gate)
        self.was_fenced = False

        async def connect(target: Target, namespace: str) -> Manager:
            return manager_for(self.gate, target)

        self.runner = Runner(self.platform, connect, self.gate, pace=pace, luck=Random(1))
        self._task = asyncio.get_running_loop().create_task(self._run(), name="process")

    async def kill(self) -> None:
        """End it as SIGKILL does: nothing that it does from here on reaches anything."""
        self.gate.is_dead = True
        self.gate.thaw()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    @property
    def died(self) -> BaseException | None:
        """What it died of by itself, if it did."""
        if not self._task.done() or self._task.cancelled():
            return None
        return self._task.exception()

    async def _run(self) -> None:
        try:
            await self.runner.run()
        except* Fenced:
            self.was_fenced = True
