"""
A store in memory for tests of the core: compare-and-set, epochs, a watch, and failure at will.

It outlives the processes that drive it, as a disk does.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from itertools import count, pairwise

from msgspec.structs import replace

from bascule.errors import Conflict, Error, Fenced, Mistake
from bascule.model import Event, Job, Phase, Ref, Target, from_json, to_json
from bascule.ports import Change, Clock, Selector


class Store:
    """What is on disk."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.jobs: dict[Ref, bytes] = {}
        self.targets: dict[Ref, Target] = {}
        self.events: dict[Ref, list[Event]] = defaultdict(list)
        self.secrets: dict[tuple[str, str, str], str] = {}
        self.history: dict[str, list[Job]] = defaultdict(list)
        self.epoch = 0
        self.trouble: Error | None = None
        self.writes = 0
        self._versions = count(1)
        self._watchers: list[asyncio.Queue[Change]] = []

    def get(self, ref: Ref) -> Job | None:
        """Return the job, read afresh."""
        data = self.jobs.get(ref)
        return None if data is None else from_json(data, Job)

    def put(self, job: Job) -> Job:
        """Write *job* under a new version."""
        if self.trouble is not None:
            raise self.trouble
        self.writes += 1
        stored = replace(job, version=str(next(self._versions)))
        self.jobs[job.ref] = to_json(stored)
        self.history[job.uid].append(stored)
        self.tell(Change("job", job.ref))
        return stored

    def tell(self, change: Change) -> None:
        """Tell whoever watches."""
        for watcher in self._watchers:
            watcher.put_nowait(change)

    # What people do, from any process.

    def create(self, job: Job) -> Job:
        """Accept a new job."""
        if job.ref in self.jobs:
            raise Conflict(f"there is a job `{job.ref}` already")
        return self.put(replace(job, created_at=self.clock.now()))

    def change(self, ref: Ref, **spec: object) -> Job:
        """Change fields of a job's spec."""
        job = self.get(ref)
        assert job is not None
        return self.put(replace(job, spec=replace(job.spec, **spec), generation=job.generation + 1))

    def annotate(self, ref: Ref, **annotations: str) -> Job:
        """Add annotations to a job."""
        job = self.get(ref)
        assert job is not None
        return self.put(replace(job, annotations={**job.annotations, **annotations}))

    def delete(self, ref: Ref) -> None:
        """Ask for a job's end."""
        job = self.get(ref)
        if job is not None and job.deleted_at is None:
            self.put(replace(job, deleted_at=self.clock.now()))


class MemoryPlatform:
    """The store as one driver sees it: whoever comes last has the epoch."""

    installation = "tests2"

    def __init__(self, store: Store, clock: Clock, *, distrusts_before: datetime | None = None) -> None:
        self.store = store
        self.distrusts_before = distrusts_before
        self._clock = clock
        store.epoch += 1
        self._epoch = store.epoch

    async def get(self, ref: Ref) -> Job | None:
        await self._clock.sleep(0)
        return self.store.get(ref)

    async def bearer(self, key: str) -> Job | None:
        await self._clock.sleep(0)
        for ref in self.store.jobs:
            job = self.store.get(ref)
            if job and key in {job.status.key, *(attempt.key for attempt in job.status.attempts)}:
                return job
        return None

    async def list(self, selector: Selector) -> AsyncIterator[Job]:
        for ref in list(self.store.jobs):
            await self._clock.sleep(0)
            job = self.store.get(ref)
            if job is not None and _fits(job, selector):
                yield job

    async def target(self, ref: Ref) -> Target | None:
        await self._clock.sleep(0)
        return self.store.targets.get(ref)

    async def targets(self) -> AsyncIterator[Target]:
        for target in list(self.store.targets.values()):
            yield target

    async def watch(self) -> AsyncIterator[Change]:
        changes: asyncio.Queue[Change] = asyncio.Queue()
        self.store._watchers.append(changes)
        try:
            while True:
                yield await changes.get()
        finally:
            self.store._watchers.remove(changes)

    async def save(self, job: Job, events: Sequence[Event] = ()) -> Job:
        await self._clock.sleep(0.001)
        current = self._current(job)
        saved = self.store.put(replace(current, status=job.status))
        self.store.events[job.ref] += events
        await self._clock.sleep(0)
        return saved

    async def remove(self, job: Job) -> None:
        await self._clock.sleep(0.001)
        self._current(job)
        if self.store.trouble is not None:
            raise self.store.trouble
        del self.store.jobs[job.ref]
        self.store.tell(Change("job", job.ref))

    async def save_target(self, target: Target) -> Target:
        await self._clock.sleep(0.001)
        self._hold_on()
        self.store.targets[target.ref] = target
        return target

    async def secret(self, namespace: str, name: str, key: str) -> str:
        try:
            return self.store.secrets[namespace, name, key]
        except KeyError:
            raise Mistake(f"there is no secret `{name}` with key `{key}`") from None

    def _hold_on(self) -> None:
        if self._epoch != self.store.epoch:
            raise Fenced("another driver has taken over")

    def _current(self, job: Job) -> Job:
        self._hold_on()
        current = self.store.get(job.ref)
        if current is None or current.version != job.version:
            raise Conflict(f"job `{job.ref}` has moved on")
        return current


def _fits(job: Job, selector: Selector) -> bool:
    live = not job.status.phase.is_final or job.deleted_at is not None
    return (
        (selector.live is None or selector.live is live)
        and (not selector.names or job.name in selector.names)
        and (not selector.phases or job.status.phase in selector.phases)
    )


def left_a_final_phase(history: Sequence[Job]) -> list[tuple[Phase, Phase]]:
    """Return every step out of a final phase in the writes of one job."""
    steps = pairwise(history)
    return [
        (before.status.phase, after.status.phase)
        for before, after in steps
        if before.status.phase.is_final and after.status.phase is not before.status.phase
    ]
