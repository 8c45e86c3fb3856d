"""
Writing statuses: one write, against the version that was read, and with the driver's epoch.

Before anything of a job goes outside, its object gets the finalizer that keeps it until
nothing of it is left there. A status that somebody else has changed is put right: what
this process wrote last is the truth, whatever stands there now.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import msgspec
from msgspec.structs import replace

from bascule.clients.kube import KubeClient
from bascule.clients.kube.client import MERGE
from bascule.errors import Conflict, Fenced
from bascule.journal import Logger
from bascule.model import Event, Job, JobStatus, Ref, Target, from_json, to_json, to_plain
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.faults import StatusTooLarge, translated
from bascule.platforms.kubernetes.names import FINALIZER
from bascule.platforms.kubernetes.stories import Stories, told_on
from bascule.platforms.kubernetes.wire import StoredJob, bare, job_of, meta_in, status_document, target_of
from bascule.ports import Clock

_VERSION = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
log = Logger(__name__)


class Epochs(Protocol):
    """By what right this process writes."""

    @property
    def epoch(self) -> int:
        """Return the epoch to write under; raise `Fenced` where this process must not write any more."""

    async def confirm(self) -> None:
        """Raise `Fenced` where another process has taken over, by asking."""


class _Written(msgspec.Struct, frozen=True):
    """What this process wrote last."""

    uid: str
    version: str
    status: bytes
    agent: int


class Saver:
    """Saves what the driver decides."""

    def __init__(
        self,
        client: KubeClient,
        epochs: Epochs,
        stories: Stories,
        read: Callable[[Ref], Awaitable[StoredJob | None]],
        clock: Clock,
    ) -> None:
        self.epochs = epochs
        self.agent = 0
        """Which agent this process is; 0 for the operator."""
        self._client = client
        self._stories = stories
        self._clock = clock
        self._read = read
        self._written: dict[Ref, _Written] = {}
        self._saving: Counter[Ref] = Counter()

    def forget(self, ref: Ref) -> None:
        """Drop what is kept of a job that is gone."""
        self._written.pop(ref, None)

    async def save(self, job: Job, events: Sequence[Event]) -> StoredJob:
        """Store *job*'s status, tell its *events*, and return it with its new version."""
        epoch = self.epochs.epoch
        stored = await self._as_stored(job)
        self._check_agent(stored)
        if stored.epoch > epoch:
            # Another leader's, or a number that somebody made up: the API server knows.
            await self.epochs.confirm()
        with self._writing(job.ref):
            version = await self._guard(stored) if _goes_outside(job.status) else job.version
            story, told = told_on(stored.story, events)
            try:
                saved = await self._put(stored, job.status, version=version, epoch=epoch, story=story)
            except StatusTooLarge as fault:
                words = f"{fault.message} ({fault.hint})"
                await self._stories.tell_beside(stored, [Event(self._clock.now(), "StatusTooLarge", words, "Warning")])
                raise
        if told:
            await self._stories.tell(saved, told)
        return saved

    async def hand_over(self, job: Job, message: str) -> StoredJob:
        """Store that an agent moves *job* from here; nothing of it is outside yet."""
        epoch = self.epochs.epoch
        stored = await self._as_stored(job)
        status = replace(stored.status, reason="", message=message)
        with self._writing(job.ref):
            version = await self._guard(stored)
            return await self._put(replace(stored, agent=1), status, version=version, epoch=epoch, story=stored.story)

    async def note(self, job: StoredJob, message: str) -> None:
        """Store *message*, and leave the rest of *job*'s status as it is; where it moves on, that says more."""
        if job.status.message == message:
            return
        epoch = self.epochs.epoch
        try:
            with self._writing(job.ref):
                status = replace(job.status, message=message)
                await self._put(job, status, version=job.version, epoch=epoch, story=job.story)
        except Conflict:
            return

    async def take_over(self, ref: Ref) -> StoredJob:
        """Become the next agent of the job *ref*: whoever was it before can write nothing from here on."""
        stored = await self._read(ref)
        if stored is None:
            raise Conflict(f"job `{ref}` is gone", hint="nothing is left to do for it")
        if not stored.agent:
            raise Conflict(f"job `{ref}` was not handed over yet", hint="the operator does so next")
        stored = replace(stored, agent=stored.agent + 1)
        taken = await self._put(stored, stored.status, version=stored.version, epoch=stored.epoch, story=stored.story)
        self.agent = taken.agent
        return taken

    async def remove(self, job: Job) -> None:
        """Let *job* go."""
        _ = self.epochs.epoch
        stored = await self._as_stored(job)
        path = names.item("bridgejobs", job.ref)
        with translated(f"job `{job.ref}`"):
            if stored.deleted_at is None:
                options = {"preconditions": {"uid": job.uid, "resourceVersion": job.version}}
                await self._client.delete(path, options)
                fresh = await self._read(job.ref)
                if fresh is None or fresh.uid != job.uid:
                    return
                stored = fresh
            left = [name for name in stored.finalizers if name != FINALIZER]
            metadata = {"uid": job.uid, "resourceVersion": stored.version, "finalizers": left}
            await self._client.patch(path, {"metadata": metadata}, kind=MERGE)

    async def save_target(self, target: Target) -> Target:
        """Store a target's status."""
        _ = self.epochs.epoch
        _check_version(target.version, f"target `{target.ref}`")
        document = bare("BridgeTarget", target, target.version) | {"status": to_plain(target.status)}
        with translated(f"target `{target.ref}`"):
            return target_of(await self._client.put(names.item("bridgetargets", target.ref, "status"), document))

    async def put_right(self, job: StoredJob | None) -> StoredJob | None:
        """Return *job*, with the status that this process gave it, where somebody else wrote another."""
        if job is None or self._saving[job.ref]:
            return job
        written = self._written.get(job.ref)
        if written is None or written.uid != job.uid or int(job.version) <= int(written.version):
            return job
        self._check_agent(job)
        if written.agent and not self.agent:
            return job  # we handed it over: what stands there is its agent's
        status = to_json(job.status)
        if status == written.status and job.agent == written.agent:
            return job
        epoch = self.epochs.epoch
        if job.epoch > epoch:
            await self.epochs.confirm()
        log.warning("job.status_was_changed", job=str(job.ref), hint="only the operator writes it; it is put right")
        ours = from_json(written.status, JobStatus)
        try:
            with self._writing(job.ref):
                right = replace(job, agent=written.agent)
                return await self._put(right, ours, version=job.version, epoch=epoch, story=job.story)
        except Conflict:
            return await self.put_right(await self._read(job.ref))

    async def hold_again(self, job: StoredJob | None) -> StoredJob | None:
        """Return *job*, with our finalizer where somebody has taken it from a job that is outside."""
        if job is None or self.agent or job.is_guarded or job.deleted_at is not None or not _goes_outside(job.status):
            return job
        if self._saving[job.ref]:
            return job
        try:
            _ = self.epochs.epoch
        except Fenced:
            return job  # it is for the leader to do
        log.warning("job.finalizer_was_taken", job=str(job.ref), hint="to let go of a job, annotate it")
        try:
            with self._writing(job.ref):
                version = await self._guard(job)
        except Conflict:
            return await self._read(job.ref)
        return replace(job, version=version, finalizers=(*job.finalizers, FINALIZER))

    @contextmanager
    def _writing(self, ref: Ref) -> Iterator[None]:
        """Let nobody take what is being written for somebody else's, nor what may have been."""
        self._saving[ref] += 1
        try:
            yield
        except Conflict:
            raise
        except BaseException:
            self._written.pop(ref, None)  # it may have been stored nevertheless
            raise
        finally:
            self._saving[ref] -= 1
            if not self._saving[ref]:
                del self._saving[ref]

    def _check_agent(self, stored: StoredJob) -> None:
        if self.agent and stored.agent > self.agent:
            raise Fenced(
                f"another agent moves job `{stored.ref}`: number {stored.agent}, and this is {self.agent}",
                hint="nothing is lost: it goes on with the job",
            )

    async def _put(self, stored: StoredJob, status: JobStatus, *, version: str, epoch: int, story: object) -> StoredJob:
        document = bare("BridgeJob", stored, version)
        document["status"] = status_document(
            status,
            job=stored.name,
            epoch=epoch,
            story=story,  # type: ignore[arg-type]
            agent=stored.agent,
        )
        with translated(f"job `{stored.ref}`"):
            saved = job_of(await self._client.put(names.item("bridgejobs", stored.ref, "status"), document))
        self._written[saved.ref] = _Written(saved.uid, saved.version, to_json(saved.status), saved.agent)
        return saved

    async def _guard(self, stored: StoredJob) -> str:
        """Make sure that the object stays as long as something of it is outside; return its version."""
        if stored.is_guarded or stored.deleted_at is not None:
            return stored.version
        metadata = {
            "uid": stored.uid,
            "resourceVersion": stored.version,
            "finalizers": [*stored.finalizers, FINALIZER],
        }
        with translated(f"job `{stored.ref}`"):
            path = names.item("bridgejobs", stored.ref)
            return meta_in(await self._client.patch(path, {"metadata": metadata}, kind=MERGE)).resource_version

    async def _as_stored(self, job: Job) -> StoredJob:
        _check_version(job.version, f"job `{job.ref}`")
        if isinstance(job, StoredJob):
            return job
        stored = await self._read(job.ref)
        if stored is None or (stored.uid, stored.version) != (job.uid, job.version):
            raise Conflict(f"job `{job.ref}` was changed by somebody else, or is gone", hint="read it again")
        return replace(stored, status=job.status)


def _goes_outside(status: JobStatus) -> bool:
    return (status.intent is not None or status.handle is not None) and not status.phase.is_final


def _check_version(version: str, what: str) -> None:
    """Raise `Conflict` for a version that no object has; an empty one would overwrite whatever is there."""
    if not _VERSION.fullmatch(version):
        raise Conflict(f"{what} has no version, or none that was given by the API server", hint="read it again")
