"""
A manager over the fake outside world: `ports.Manager` in every kind, with faults at will.

It is what an adapter and its server are together, so it owes the same contract
(`tests/managers/test_fakes.py`). What can go wrong on the way is in `tests.fakes.faults`,
what it makes of the cluster's words in `tests.fakes.reading`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from bascule.errors import Mistake, Refused, Unauthorized, Unavailable
from bascule.model import (
    Absent,
    CannotTell,
    Check,
    Chunk,
    Found,
    Handle,
    Health,
    Job,
    Observation,
    Stray,
    belongs_to,
)
from bascule.ports import Abilities, Clock, Order, Stream
from tests.fakes.connection import Connection
from tests.fakes.course import OutsideJob
from tests.fakes.faults import Faults, Weather
from tests.fakes.outside import Outside
from tests.fakes.reading import Reader

KNOWN_OPTIONS = frozenset({"account", "partition"})


class FakeManager:
    """One sign-in at the fake cluster."""

    def __init__(
        self,
        outside: Outside,
        abilities: Abilities,
        *,
        clock: Clock,
        weather: Weather | None = None,
        timeout: float = 30.0,
    ) -> None:
        self.outside = outside
        self.abilities = abilities
        self.clock = clock
        self.is_closed = False
        self.orders: list[Order] = []
        self._line = Connection(outside, clock, weather=weather, timeout=timeout)
        self._reader = Reader(outside, abilities)

    @property
    def faults(self) -> Faults:
        """Where a test orders what goes wrong."""
        return self._line.faults

    @property
    def requests(self) -> Counter[str]:
        """How many requests of each kind were made."""
        return self._line.requests

    def check(self, job: Job) -> None:
        problems = [f"`options.{name}` is unknown" for name in sorted(job.spec.options.keys() - KNOWN_OPTIONS)]
        if job.spec.array is not None and not self.abilities.arrays:
            problems.append("`array` cannot be done here")
        if job.spec.hold and not self.abilities.hold:
            problems.append("`hold` cannot be done here")
        if problems:
            raise Mistake(f"the fake manager cannot take `{job.name}`: {problems[0]}", problems=tuple(problems))

    async def submit(self, order: Order) -> Handle:
        if order.held:
            self._must(self.abilities.holds, "submit held")
        self.orders.append(order)
        chosen = self.abilities.key == "chosen"
        limit = order.job.spec.resources.walltime if self.abilities.walltime else None

        def effect() -> Handle:
            if chosen and order.key in self.outside.live:
                return self._reader.handle_of(self.outside.live[order.key])
            job = self.outside.submit(
                order.key,
                own_id=order.key if chosen else "",
                held=order.held,
                walltime=limit.total_seconds() if limit is not None else None,
            )
            return self._reader.handle_of(job)

        return await self._line.request("submit", effect, changes=True)

    async def find(self, key: str, since: datetime, *, may_have_run: bool = False) -> Found | Absent | CannotTell:
        if self.abilities.key == "none":
            return CannotTell("this manager cannot search")
        as_of = self.clock.now()
        return await self._line.request("find", lambda: self._reader.search(key, since, as_of))

    async def observe(self, handles: Sequence[Handle], cursor: str = "") -> Observation:
        as_of = self.clock.now()

        def effect() -> Observation:
            mark = str(self.outside.changes) if self.abilities.history else ""
            if mark and mark == cursor:
                return Observation(as_of, unchanged=True, cursor=mark)
            return Observation(
                as_of, {handle.id: self._reader.answer(handle, as_of) for handle in handles}, cursor=mark
            )

        def bent(kind: str, seen: Observation) -> Observation:
            match kind:
                case "partial":
                    return Observation(as_of, dict(list(seen.answers.items())[: len(seen.answers) // 2]))
                case "empty":
                    return Observation(as_of)
                case "unchanged":
                    return Observation(as_of, unchanged=True, cursor=cursor)
            return seen

        return await self._line.request("observe", effect, bent=bent)

    async def cancel(self, handle: Handle, index: int | None = None) -> None:
        with suppress(Refused):  # it is not there any more: over, which is what was wanted
            await self._change("cancel", handle, self.outside.cancel)

    async def release(self, handle: Handle) -> None:
        self._must(self.abilities.holds, "release")
        await self._change("release", handle, self.outside.release)

    async def hold(self, handle: Handle) -> None:
        self._must(self.abilities.hold, "hold")
        await self._change("hold", handle, self.outside.hold)

    async def unhold(self, handle: Handle) -> None:
        self._must(self.abilities.hold, "unhold")
        await self._change("unhold", handle, self.outside.release)

    async def signal(self, handle: Handle, name: str) -> None:
        self._must(self.abilities.signal, "signal")
        await self._change("signal", handle, lambda job: self.outside.send(job, name))

    async def update(self, handle: Handle, walltime: timedelta) -> None:
        self._must(self.abilities.update_walltime, "change the walltime")
        seconds = walltime.total_seconds()
        await self._change("update", handle, lambda job: self.outside.set_walltime(job, seconds))

    async def sweep(self, installation: str) -> Sequence[Stray]:
        def effect() -> list[Stray]:
            ours = [job for job in self.outside.living() if belongs_to(job.key, installation)]
            reader = self._reader
            return [Stray(job.key, reader.handle_of(job), reader.is_held(job), job.ended is not None) for job in ours]

        return [] if self.abilities.key == "none" else await self._line.request("sweep", effect)

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int, index: int | None = None) -> Chunk:
        self._must(self.abilities.output, "read output")

        def effect() -> Chunk:
            job = self._reader.living(handle)
            data = bytes(job.output) if job is not None and stream == "output" else b""
            return Chunk(data[offset : offset + limit], offset, len(data), gone=job is None)

        return await self._line.request("read", effect)

    async def forget(self, handle: Handle) -> None:
        def effect() -> None:
            job = self._reader.living(handle)
            if job is not None and job.ended is not None and self.abilities.key == "chosen":
                self.outside.purge(job)

        await self._line.request("forget", effect)

    async def probe(self) -> Health:
        reach = Check("reach", ok=True)
        try:
            await self._line.request("probe", lambda: None)
        except Unauthorized as no:
            sign_in = Check("sign in", ok=False, detail=no.message, hint=no.hint)
            return Health(True, False, False, message=no.message, hint=no.hint, checks=(reach, sign_in))
        except Unavailable as no:
            checks = (Check("reach", ok=False, detail=no.message, hint=no.hint),)
            return Health(False, False, False, message=no.message, hint=no.hint, checks=checks)
        instance = str(self.outside.instance) if self.abilities.volatile else ""
        return Health(True, True, True, "fake 1.0", checks=(reach, Check("sign in", ok=True)), instance=instance)

    async def aclose(self) -> None:
        self.is_closed = True

    def _must(self, able: bool, what: str) -> None:
        if not able:
            raise Mistake(f"the fake manager of this kind cannot {what}")

    async def _change(self, call: str, handle: Handle, change: Callable[[OutsideJob], None]) -> None:
        def effect() -> None:
            job = self._reader.living(handle)
            if job is None:
                raise Refused(f"the fake manager knows no job `{handle.id}` of ours")
            change(job)

        await self._line.request(call, effect, changes=True)
