"""
The loop: keep every job of a platform moving.

One TaskGroup holds the work queue, the watch, the connections with their monitors, the
sweeper and the resync. If one of them dies the runner dies with it: no zombies.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from random import Random
from typing import NamedTuple

from bascule.connections import Connect, Connections
from bascule.errors import Mistake, Unavailable
from bascule.journal import Logger
from bascule.model import Job, Ref, Target
from bascule.ports import Clock, Platform, Selector
from bascule.reconcile import Reconciler, is_active
from bascule.sweeper import sweep
from bascule.workqueue import KeyedQueue

log = Logger(__name__)


class Pace(NamedTuple):
    """How hard a runner works; times in seconds."""

    workers: int = 1024
    per_target: int = 32
    resync: float = 1800.0
    first_sweep: float = 60.0
    sweep: float = 600.0
    again: float = 5.0


class Runner:
    """Drives every job of *platform*; only one may do so at a time."""

    def __init__(
        self,
        platform: Platform,
        connect: Connect,
        clock: Clock,
        *,
        pace: Pace = Pace(),  # noqa: B008 - immutable
        luck: Random = Random(),  # noqa: B008, S311 - spreads polls over time, guards nothing
    ) -> None:
        self._platform = platform
        self._clock = clock
        self._pace = pace
        self._queue: KeyedQueue[Ref] = KeyedQueue(clock, per_group=pace.per_target)
        self._targets: dict[Ref, Ref] = {}
        self.connections = Connections(connect, platform=platform, clock=clock, wake=self.wake, luck=luck)
        self._generations: dict[Ref, tuple[str, int] | None] = {}
        self._reconciler = Reconciler(platform, self.connections, clock, gone=self._forget)

    async def run(self) -> None:
        """Keep everything moving until cancelled; raises `Fenced` where another driver took over."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.connections.run(), name="connections")
            tasks.create_task(self._watch(), name="watch")
            tasks.create_task(self._resync(), name="resync")
            tasks.create_task(self._sweep(), name="sweep")
            tasks.create_task(self._queue.run(self._reconciler.look, most=self._pace.workers), name="work")

    def wake(self, ref: Ref) -> None:
        """Look at *ref* as soon as may be."""
        self._queue.add(ref, self._targets.get(ref))

    async def caught_up(self) -> None:
        """Wait until every live job was looked at and every target in use was asked once."""
        await self.connections.listed.wait()
        while len(self._queue) or not all(
            connection.reachable is not None or not len(connection.monitor) for connection in self.connections.all()
        ):
            await self._clock.sleep(0.02)

    def _forget(self, ref: Ref) -> None:
        """Keep nothing about *ref*, which is gone."""
        self._targets.pop(ref, None)
        self._queue.forget(ref)

    async def _watch(self) -> None:
        async with aclosing(self._platform.watch()) as changes:  # type: ignore[type-var]
            await self.connections.listed.wait()
            async for change in changes:
                if change.kind == "job":
                    await self._place(change.ref)
                    for dependent in self._reconciler.dependents(change.ref):
                        self.wake(dependent)
                elif await self._is_other(change.ref):
                    for ref, target in list(self._targets.items()):
                        if target == change.ref:
                            self.wake(ref)
        raise RuntimeError("the watch has ended")

    async def _place(self, ref: Ref) -> None:
        """Note which target *ref* goes to, so that it waits in the right line, and wake it."""
        if ref not in self._targets:
            try:
                job = await self._platform.get(ref)
            except Unavailable:  # its pass tries again, with pauses
                job = None
            if job is not None:
                self._targets[ref] = job.target_ref
        self.wake(ref)

    async def _is_other(self, ref: Ref) -> bool:
        """Tell whether the target asks for something else than before; its status moves without that."""
        try:
            now = _generation(await self._platform.target(ref))
        except Unavailable:  # each pass looks for itself
            return True
        is_other = self._generations.get(ref, ("", 0)) != now
        self._generations[ref] = now
        return is_other

    async def _resync(self) -> None:
        while True:
            try:
                await self._look_at_all()
                await self._clock.sleep(self._pace.resync)
            except Unavailable as trouble:
                log.warning("runner.not_listed", error=trouble.message)
                await self._clock.sleep(trouble.retry_after or self._pace.again)

    async def _look_at_all(self) -> None:
        """Look at every live job."""
        if not self.connections.listed.is_set():
            # Before any job is looked at: what a target asks for later is told from this.
            async with aclosing(self._platform.targets()) as known:  # type: ignore[type-var]
                async for target in known:
                    self._generations[target.ref] = _generation(target)
        # What a former process left outside is counted before anything may join it there.
        waiting = []
        targets: dict[Ref, Target | None] = {}
        async with aclosing(self._platform.list(Selector(live=True))) as jobs:  # type: ignore[type-var]
            async for job in jobs:
                self._targets[job.ref] = job.target_ref
                if is_active(job.status):
                    self.connections.count_in(job.target_ref, job.ref)
                    if not await self._take_up(job, targets):
                        self.wake(job.ref)
                else:
                    waiting.append(job.ref)
        for ref in waiting:
            self.wake(ref)
        self.connections.listed.set()

    async def _take_up(self, job: Job, targets: dict[Ref, Target | None]) -> bool:
        """
        Take up *job* without a pass, where it only needs to be watched; tell whether that was so.

        Only at the start: nobody else has touched it since it was read. With 100,000 live
        jobs, a pass for each would keep what moved meanwhile waiting for a minute.
        """
        if self.connections.listed.is_set() or job.status.handle is None:
            return False
        if job.target_ref not in targets:
            targets[job.target_ref] = await self._platform.target(job.target_ref)
        plan = await self._reconciler.take_up(job, targets[job.target_ref])
        if plan is not None and plan.look_again_in is not None:
            self._queue.add_later(job.ref, plan.look_again_in, job.target_ref)
        return plan is not None

    async def _sweep_one(self, target: Target) -> None:
        """Sweep a target that has jobs, whether or not one of them lives."""
        async with aclosing(self._platform.list(Selector(target=target.name, limit=1))) as jobs:  # type: ignore[type-var]
            async for job in jobs:
                if self._platform.hands_over(job, target):
                    continue  # whoever moves it looks there
                try:
                    await sweep(await self.connections.to(target, job.namespace), self._platform)
                except Mistake as mistake:
                    log.warning("sweeper.no_connection", target=str(target.ref), error=mistake.message)

    async def _sweep(self) -> None:
        await self._clock.sleep(self._pace.first_sweep)
        while True:
            try:
                async with aclosing(self._platform.targets()) as targets:  # type: ignore[type-var]
                    async for target in targets:
                        await self._sweep_one(target)
            except Unavailable as trouble:
                log.warning("sweeper.not_listed", error=trouble.message)
            await self._clock.sleep(self._pace.sweep)


def _generation(target: Target | None) -> tuple[str, int] | None:
    """Return what tells one wish for *target* from another; None where there is no target."""
    return None if target is None else (target.uid, target.generation)
