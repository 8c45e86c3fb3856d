"""
The platform as a controller pod's agent sees it: one job, and the target that it goes to.

The agent moves the job from its hand-over to its end. What comes after (removal at its
time, or when it is deleted) is the operator's again, which outlives the pod.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from bascule.errors import Conflict
from bascule.model import ABANDON, Event, Job, Phase, Ref, Target
from bascule.platforms.kubernetes.reading import fits
from bascule.platforms.kubernetes.store import Store
from bascule.platforms.kubernetes.wire import StoredJob
from bascule.ports import Change, Clock, Selector

NOT_YET = 0.5


class SingleJob:
    """One job of *store*, moved by this process."""

    def __init__(self, store: Store, ref: Ref, uid: str, clock: Clock) -> None:
        self._store = store
        self._ref = ref
        self._uid = uid
        self._clock = clock
        self.latest: StoredJob | None = None
        """The job as it was read or written here last."""
        self.is_done = asyncio.Event()
        """Set once nothing is left to do here: the job is over, or there is no such job any more."""

    async def take(self) -> StoredJob | None:
        """Become the job's next agent, once it was handed over; None where it is gone, or over."""
        while True:
            job = await self.get(self._ref)
            if job is None or job.status.phase.is_final:
                return None
            try:
                self.latest = await self._store.become_agent(self._ref)
            except Conflict:
                await self._clock.sleep(NOT_YET)
            else:
                return self.latest

    @property
    def installation(self) -> str:
        """Return the operator's installation, whose keys the job's attempts bear."""
        return self._store.installation

    @property
    def distrusts_before(self) -> datetime | None:
        """Return None, as the operator does."""
        return self._store.distrusts_before

    async def get(self, ref: Ref) -> Job | None:
        """Return the job, or one that it waits for, as it is stored now."""
        job = await self._store.get(ref)
        if ref != self._ref:
            return job
        if not isinstance(job, StoredJob) or job.uid != self._uid:
            self._note(None)
            return None
        self._note(job)
        return job

    async def bearer(self, key: str) -> Job | None:
        """Return the job where *key* is one of its keys."""
        job = await self._store.bearer(key)
        return job if job is not None and job.ref == self._ref else None

    async def list(self, selector: Selector) -> AsyncIterator[Job]:
        """Give the job, if it is meant."""
        job = await self.get(self._ref)
        if isinstance(job, StoredJob) and fits(job, selector):
            yield job

    async def target(self, ref: Ref) -> Target | None:
        """Return the target as it is stored now."""
        return await self._store.target(ref)

    async def targets(self) -> AsyncIterator[Target]:
        """Give the job's target."""
        if self.latest is not None and (target := await self.target(self.latest.target_ref)) is not None:
            yield target

    def watch(self) -> AsyncIterator[Change]:
        """Tell what changed."""
        return self._store.watch()

    async def save(self, job: Job, events: Sequence[Event] = ()) -> Job:
        """Store the job's status; raises `Fenced` where another agent moves it."""
        saved = await self._store.save(job, events)
        if isinstance(saved, StoredJob):
            self._note(saved)
        return saved

    async def remove(self, job: Job) -> None:
        """Leave the removal to the operator, whose it is once the job is over."""
        if not job.status.phase.is_final:
            words = "let go of" if job.annotations.get(ABANDON) == "true" or job.status.handle else "was not submitted"
            status = replace(job.status, phase=Phase.CANCELLED, reason="", message=f"deleted: {words}")
            await self.save(replace(job, status=status))
        self.is_done.set()

    async def save_target(self, target: Target) -> Target:
        """Leave the target's status as it is: it is not for one job to say."""
        return target

    async def secret(self, namespace: str, name: str, key: str) -> str:
        """Return one value of a Secret, as far as the namespace's account may read it."""
        return await self._store.secret(namespace, name, key)

    def drives(self, job: Job, target: Target | None) -> bool:
        """Return True: it is why this process is here."""
        return True

    def hands_over(self, job: Job, target: Target | None) -> bool:
        """Return False: it was handed over to this process."""
        return False

    async def hand_over(self, job: Job) -> None:
        """Fail: nobody asks for it."""
        raise AssertionError

    async def admit(self, job: Job, target: Target) -> None:
        """Let it in: the operator has done so before it handed it over."""

    def _note(self, job: StoredJob | None) -> None:
        self.latest = job
        if job is None or job.status.phase.is_final:
            self.is_done.set()
