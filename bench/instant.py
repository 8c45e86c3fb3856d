"""A manager in this very process that answers at once, or never: for figures that are not about a manager."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from itertools import count

from bascule.model import Absent, CannotTell, Chunk, Found, Handle, Health, Job, Observation, Phase, Report, Stray
from bascule.ports import Abilities, Clock, Order, Stream


class InstantManager:
    """Takes *seconds* for each answer; `hangs` makes it give none."""

    abilities = Abilities(key="searched", holds=True, poll_soon=2.0, poll_rest=10.0)

    def __init__(self, clock: Clock, *, seconds: float = 0.0) -> None:
        self._clock = clock
        self._seconds = seconds
        self._numbers = count(1)
        self.hangs = False

    def check(self, job: Job) -> None:
        """Take any job."""

    async def submit(self, order: Order) -> Handle:
        """Take it."""
        await self._pause()
        return Handle(id=str(next(self._numbers)), key=order.key)

    async def release(self, handle: Handle) -> None:
        """Let it go."""
        await self._pause()

    async def find(self, key: str, since: datetime, *, may_have_run: bool = False) -> Found | Absent | CannotTell:
        """Find nothing."""
        await self._pause()
        return Absent("there is none", self._clock.now())

    async def observe(self, handles: Sequence[Handle], cursor: str = "") -> Observation:
        """Say that all of them run."""
        await self._pause()
        return Observation(
            self._clock.now(), {handle.id: Report(phase=Phase.RUNNING, state="RUNNING") for handle in handles}
        )

    async def cancel(self, handle: Handle, index: int | None = None) -> None:
        """Do nothing."""

    async def sweep(self, installation: str) -> Sequence[Stray]:
        """List nothing."""
        return ()

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int, index: int | None = None) -> Chunk:
        """Return nothing."""
        return Chunk(b"", 0, 0)

    async def forget(self, handle: Handle) -> None:
        """Do nothing."""

    async def probe(self) -> Health:
        """Be well."""
        await self._pause()
        return Health(reachable=True, authenticated=True, compatible=True)

    async def aclose(self) -> None:
        """Do nothing."""

    async def _pause(self) -> None:
        if self.hangs:
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(self._seconds)
