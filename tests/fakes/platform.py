"""
A platform in memory: both ports, the same contract as the real ones, and switches for faults.

    platform = MemoryPlatform(clock)            # drives, and is its own front
    successor = platform.taken_over()           # another process took over: `platform` is fenced
    platform.fault = StoreFailed("disk full")   # every write raises it, and changes nothing
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from msgspec.structs import replace

from bascule.errors import Conflict, Error, Fenced, Mistake
from bascule.model import (
    Event,
    Job,
    JobStatus,
    Ref,
    Target,
    TargetSpec,
    TargetStatus,
    installation_from,
    key_for,
    parts_of,
)
from bascule.ports import Change, Clock, Selector

MOST_EVENTS = 200


@dataclass
class Objects:
    """What is stored; shared by all processes of one home."""

    clock: Clock
    jobs: dict[Ref, Job] = field(default_factory=dict)
    targets: dict[Ref, Target] = field(default_factory=dict)
    events: dict[str, list[Event]] = field(default_factory=dict)
    secrets: dict[tuple[str, str, str], str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    wakes: set[asyncio.Event] = field(default_factory=set)
    uids: count[int] = field(default_factory=lambda: count(1))
    epoch: int = 1
    installation: str = installation_from("memory")
    distrusts_before: datetime | None = None

    def tell(self, change: Change) -> None:
        """Wake whoever watches."""
        self.changes.append(change)
        for wake in self.wakes:
            wake.set()

    def put_job(self, job: Job) -> Job:
        """Store *job* under a new version."""
        stored = replace(job, version=str(len(self.changes) + 1))
        self.jobs[job.ref] = stored
        self.tell(Change("job", job.ref))
        return stored

    def put_target(self, target: Target) -> Target:
        """Store *target* under a new version."""
        stored = replace(target, version=str(len(self.changes) + 1))
        self.targets[target.ref] = stored
        self.tell(Change("target", target.ref))
        return stored

    def fresh_uid(self) -> str:
        """Return a uid that was never given."""
        return f"uid-{next(self.uids)}"


class MemoryPlatform:
    """One process' view of the objects: `Platform` and `Front`."""

    def __init__(self, clock: Clock, objects: Objects | None = None) -> None:
        self.clock = clock
        self.objects = objects or Objects(clock)
        self.epoch = self.objects.epoch
        self.fault: Error | None = None
        self.writes = 0
        if objects is None:
            local = Target(namespace="default", name="local", uid=self.objects.fresh_uid(), spec=TargetSpec("local"))
            self.objects.put_target(replace(local, created_at=clock.now()))

    def taken_over(self) -> MemoryPlatform:
        """Let another process take over; this one is fenced from now on."""
        self.objects.epoch += 1
        return MemoryPlatform(self.clock, self.objects)

    def put_secret(self, namespace: str, name: str, key: str, value: str) -> None:
        """Store one value of a secret."""
        self.objects.secrets[namespace, name, key] = value

    @property
    def installation(self) -> str:
        return self.objects.installation

    @property
    def distrusts_before(self) -> datetime | None:
        return self.objects.distrusts_before

    # The driver's writes

    async def save(self, job: Job, events: Sequence[Event] = ()) -> Job:
        await self._write(fenced=True)
        stored = self._current(job)
        self._record(stored.uid, events)
        return self.objects.put_job(replace(stored, status=job.status))

    async def remove(self, job: Job) -> None:
        await self._write(fenced=True)
        stored = self._current(job)
        del self.objects.jobs[stored.ref]
        self.objects.events.pop(stored.uid, None)
        self.objects.tell(Change("job", stored.ref))

    async def save_target(self, target: Target) -> Target:
        await self._write(fenced=True)
        stored = self.objects.targets.get(target.ref)
        if stored is None or stored.version != target.version:
            raise Conflict(f"target `{target.ref}` was changed by somebody else")
        return self.objects.put_target(replace(stored, status=target.status))

    async def secret(self, namespace: str, name: str, key: str) -> str:
        value = self.objects.secrets.get((namespace, name, key))
        if value is None:
            raise Mistake(f"secret `{name}` has no key `{key}`", hint="put it there")
        return value

    def drives(self, job: Job, target: Target | None) -> bool:
        """Return True: whoever drives moves all jobs."""
        return True

    def hands_over(self, job: Job, target: Target | None) -> bool:
        """Return False: as above."""
        return False

    async def hand_over(self, job: Job) -> None:
        """Fail: nobody asks for it."""
        raise AssertionError

    async def admit(self, job: Job, target: Target) -> None:
        """Let everything in: what people write was checked before it was stored."""

    # People's writes

    async def create(self, job: Job) -> Job:
        await self._write()
        if job.ref in self.objects.jobs:
            raise Conflict(f"there is a job `{job.ref}` already")
        new = replace(job, uid=self.objects.fresh_uid(), status=JobStatus(), generation=1)
        return self.objects.put_job(replace(new, created_at=self.clock.now(), deleted_at=None))

    async def change(self, job: Job) -> Job:
        await self._write()
        stored = self._current(job)
        if (stored.spec, stored.labels, stored.annotations) == (job.spec, job.labels, job.annotations):
            return stored
        return self.objects.put_job(
            replace(
                stored,
                spec=job.spec,
                labels=job.labels,
                annotations=job.annotations,
                generation=stored.generation + (stored.spec != job.spec),
            )
        )

    async def delete(self, ref: Ref) -> Job | None:
        await self._write()
        stored = self.objects.jobs.get(ref)
        if stored is None or stored.deleted_at is not None:
            return stored
        return self.objects.put_job(replace(stored, deleted_at=self.clock.now()))

    async def put_target(self, target: Target) -> Target:
        await self._write()
        stored = self.objects.targets.get(target.ref)
        if stored is None:
            new = replace(target, uid=self.objects.fresh_uid(), status=TargetStatus(), generation=1)
            return self.objects.put_target(replace(new, created_at=self.clock.now(), deleted_at=None))
        if (stored.spec, stored.labels, stored.annotations) == (target.spec, target.labels, target.annotations):
            return stored
        return self.objects.put_target(
            replace(
                stored,
                spec=target.spec,
                labels=target.labels,
                annotations=target.annotations,
                generation=stored.generation + (stored.spec != target.spec),
            )
        )

    async def delete_target(self, ref: Ref) -> bool:
        await self._write()
        if self.objects.targets.pop(ref, None) is None:
            return False
        self.objects.tell(Change("target", ref))
        return True

    # What both read

    async def get(self, ref: Ref) -> Job | None:
        return self.objects.jobs.get(ref)

    async def bearer(self, key: str) -> Job | None:
        parts = parts_of(key)
        for job in self.objects.jobs.values() if parts else ():
            own = key_for(job.name, installation=self.installation, uid=job.uid, attempt=parts.attempt)
            if own == key and parts.attempt <= job.status.attempt:
                return job
        return None

    async def list(self, selector: Selector) -> AsyncIterator[Job]:
        fitting = [job for job in self.objects.jobs.values() if _fits(job, selector)]
        for job in fitting[: selector.limit]:
            yield job

    async def target(self, ref: Ref) -> Target | None:
        return self.objects.targets.get(ref)

    async def targets(self) -> AsyncIterator[Target]:
        for target in tuple(self.objects.targets.values()):
            yield target

    async def events(self, ref: Ref) -> Sequence[Event]:
        job = self.objects.jobs.get(ref)
        return tuple(self.objects.events.get(job.uid, ())) if job else ()

    def watch(self) -> AsyncIterator[Change]:
        return self._changes(len(self.objects.changes))

    async def _changes(self, since: int) -> AsyncIterator[Change]:
        wake = asyncio.Event()
        self.objects.wakes.add(wake)
        try:
            while True:
                wake.clear()
                news = self.objects.changes[since:]
                since += len(news)
                for change in dict.fromkeys(news):
                    yield change
                if not news:
                    await wake.wait()
        finally:
            self.objects.wakes.discard(wake)

    async def _write(self, *, fenced: bool = False) -> None:
        """Let others run, as a disk would; then see whether this process may write."""
        await asyncio.sleep(0)
        if self.fault is not None:
            raise self.fault
        if fenced and self.epoch != self.objects.epoch:
            raise Fenced("another process has taken over")
        self.writes += 1

    def _current(self, job: Job) -> Job:
        stored = self.objects.jobs.get(job.ref)
        if stored is None or stored.version != job.version:
            raise Conflict(f"job `{job.ref}` was changed by somebody else, or is gone")
        return stored

    def _record(self, uid: str, events: Sequence[Event]) -> None:
        kept = self.objects.events.setdefault(uid, [])
        for event in events:
            if kept and replace(kept[-1], at=event.at, count=1) == event:
                kept[-1] = replace(event, count=kept[-1].count + 1)
            else:
                kept.append(event)
        del kept[:-MOST_EVENTS]


def _fits(job: Job, selector: Selector) -> bool:
    return (
        selector.namespace in {None, job.namespace}
        and (not selector.names or job.name in selector.names)
        and selector.labels.items() <= job.labels.items()
        and (not selector.phases or job.status.phase in selector.phases)
        and selector.target in {None, job.spec.target.name}
        and selector.live in {None, job.is_live}
    )
