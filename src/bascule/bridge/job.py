"""One job, as a program holds it: wait for it, read its output, steer it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime

from bascule.bridge import admission
from bascule.bridge.tasks import check_index
from bascule.errors import Mistake, Refused, Unavailable
from bascule.model import (
    Attempt,
    Chunk,
    Handle,
    Job,
    JobStatus,
    Noun,
    Phase,
    Reason,
    Ref,
    Report,
    StoredFile,
    Target,
    Tasks,
)
from bascule.ports import Clock, Front, Manager, Stream

PIECE = 256 * 1024
FASTEST = 0.05
LOOK = 0.2
"""Seconds between two looks at what is stored, at the most; it costs next to nothing."""
SLOWEST = 1.0
"""Seconds between two questions to a manager, at the most."""


class Result(Noun, frozen=True):
    """How a job ended."""

    name: str
    phase: Phase
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    signal: int | None = None
    id: str | None = None
    key: str = ""
    attempt: int = 0
    target: str = ""
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    tasks: Tasks | None = None
    outputs: tuple[StoredFile, ...] = ()
    attempts: tuple[Attempt, ...] = ()

    @classmethod
    def of(cls, job: Job) -> Result:
        """Take the result out of *job*."""
        status = job.status
        names = [name for name in cls.__struct_fields__ if name not in {"name", "target"}]
        return cls(name=job.name, target=job.spec.target.name, **{name: getattr(status, name) for name in names})


class BridgeJob:
    """A job that is stored, by its name."""

    def __init__(
        self,
        ref: Ref,
        *,
        front: Front,
        clock: Clock,
        manager_of: Callable[[Target, str], Awaitable[Manager]],
        checked: Callable[[], None],
    ) -> None:
        self.ref = ref
        self._front = front
        self._clock = clock
        self._manager_of = manager_of
        self._checked = checked

    @property
    def name(self) -> str:
        """The job's name."""
        return self.ref.name

    async def get(self) -> Job:
        """Return the job as it is stored; raise `Mistake` where it is gone."""
        job = await self._front.get(self.ref)
        if job is None:
            raise Mistake(f"there is no job `{self.ref}`", hint="`bascule get jobs` lists them")
        return job

    async def status(self) -> JobStatus:
        """Return how far it has come."""
        return (await self.get()).status

    async def watch(self) -> AsyncIterator[Job]:
        """Give the job now and after each change, until it is over or gone."""
        version: str | None = None
        pause = FASTEST
        while True:
            self._checked()
            job = await self._front.get(self.ref)
            if job is None:
                return
            if job.version != version:
                version, pause = job.version, FASTEST
                yield job
                if job.status.phase.is_final:
                    return
            await self._clock.sleep(pause)
            pause = min(pause * 1.2, LOOK)

    async def wait(self, timeout: float | None = None) -> Result:  # noqa: ASYNC109 - the public face has it
        """
        Wait for the end; raise `TimeoutError` after *timeout* seconds.

        Raises `Refused` where the job is not accepted, so that it cannot end by itself.
        """
        async with asyncio.timeout(timeout):
            last: Job | None = None
            async for job in self.watch():
                last = job
                if job.status.reason in (Reason.NOT_ACCEPTED, Reason.TARGET_NOT_FOUND):
                    raise Refused(
                        f"job `{self.ref}` is not accepted: {job.status.message}", hint="change it, or its target"
                    )
            if last is None or not last.status.phase.is_final:
                if last is not None and last.deleted_at is not None:
                    return Result(
                        name=self.name, phase=Phase.CANCELLED, message="deleted", target=last.spec.target.name
                    )
                raise Mistake(f"there is no job `{self.ref}`", hint="`bascule get jobs` lists them")
            return Result.of(last)

    async def logs(
        self,
        *,
        follow: bool = False,
        stream: Stream = "output",
        offset: int = 0,
        attempt: int | None = None,
        index: int | None = None,
    ) -> AsyncIterator[bytes]:
        """
        Give the job's output from byte *offset* on; with *follow* until the job is over, live.

        Of an array, *index* says of which task.
        """
        position = offset
        pause = FASTEST
        while True:
            self._checked()
            job = await self.get()
            ended = job.status.phase.is_final or attempt not in (None, job.status.attempt)
            chunk = await self._piece(job, stream, position, PIECE, attempt, index)
            moved = False
            if chunk is not None and chunk.data:
                position = chunk.offset + len(chunk.data)
                moved = True
                yield chunk.data
            if moved:
                pause = FASTEST
                continue
            if ended or not follow:
                return
            await self._nap(pause, job)
            pause = min(pause * 1.3, SLOWEST)

    async def piece(
        self,
        stream: Stream = "output",
        *,
        offset: int = 0,
        limit: int = PIECE,
        attempt: int | None = None,
        index: int | None = None,
    ) -> Chunk | None:
        """Return one piece of the job's output, with its size; None where nothing was submitted that could write."""
        return await self._piece(await self.get(), stream, offset, limit, attempt, index)

    async def cancel(self, index: int | None = None) -> None:
        """
        Ask for the job's end, or at once at its manager for that of the task *index* of an array.

        The job's own end is a wish that is kept, whatever happens; a task's is asked for
        once, and raises `Unavailable` where that cannot be done now.
        """
        if index is None:
            await self._set(cancel=True)
            return
        job = await self.get()
        check_index(job, index)
        if job.status.phase.is_final:
            return
        if job.status.handle is None:
            raise Unavailable(
                f"job `{self.ref}` is not submitted yet, so its manager has no task {index} to end",
                hint="try again once it is; without an index the whole job is cancelled",
            )
        manager = await self._manager(job)
        await manager.cancel(job.status.handle, index)

    async def hold(self) -> None:
        """Keep it waiting at the manager."""
        await self._set(hold=True)

    async def release(self) -> None:
        """Let it go on."""
        await self._set(hold=False, suspend=False)

    async def lift(self) -> bool:
        """
        Lift a hold that was made outside, at once at the job's manager; tell whether there was one.

        No wish of ours is behind such a hold, and none is kept: this is asked for once.
        """
        job = await self.get()
        status = job.status
        if status.phase.is_final or status.handle is None or status.released_at is None:
            return False
        if status.holding or job.spec.hold or job.spec.cancel:
            return False
        manager = await self._manager(job)
        if not manager.abilities.hold:
            return False
        seen = (await manager.observe([status.handle])).answers.get(status.handle.id)
        if not isinstance(seen, Report) or seen.phase is not Phase.HELD:
            return False
        if seen.reason == Reason.SUSPENDED:
            raise Refused(
                f"job `{self.ref}` was suspended while it ran, not held ({seen.state})",
                hint="whoever suspended it lets it go on; `scontrol resume` at Slurm",
            )
        await manager.unhold(status.handle)
        return True

    async def delete(self) -> None:
        """Remove it; a live job is cancelled first."""
        if await self._front.delete(self.ref) is None:
            raise Mistake(f"there is no job `{self.ref}`", hint="`bascule get jobs` lists them")

    async def _set(self, **fields: object) -> None:
        if await admission.change(self._front, self.ref, **fields) is None:
            raise Mistake(f"there is no job `{self.ref}`", hint="`bascule get jobs` lists them")

    async def _nap(self, seconds: float, seen: Job) -> None:
        """Wait, but no longer than until the job has moved on from *seen*: then there may be a last word to read."""
        while seconds > 0:
            await self._clock.sleep(min(seconds, LOOK))
            seconds -= LOOK
            now = await self._front.get(self.ref)
            if now is None or now.version != seen.version:
                return

    async def _piece(
        self, job: Job, stream: Stream, offset: int, limit: int, attempt: int | None, index: int | None
    ) -> Chunk | None:
        check_index(job, index)
        handle = _handle_of(job, attempt)
        if handle is None:
            return None
        manager = await self._manager(job)
        return await manager.read(handle, stream, offset, limit, index)

    async def _manager(self, job: Job) -> Manager:
        target = await self._front.target(job.target_ref)
        if target is None:
            raise Unavailable(f"job `{self.ref}`: its target `{job.target_ref}` is gone", hint="make the target again")
        return await self._manager_of(target, job.namespace)


def _handle_of(job: Job, attempt: int | None) -> Handle | None:
    status = job.status
    if attempt in (None, status.attempt):
        if status.handle is not None or attempt is not None or not status.attempts:
            return status.handle
        past = status.attempts[-1]
    else:
        found = [one for one in status.attempts if one.attempt == attempt]
        if not found:
            known = ", ".join(str(one.attempt) for one in status.attempts)
            raise Mistake(
                f"job `{job.ref}` has no attempt {attempt} on record", hint=f"there are: {known or status.attempt}"
            )
        past = found[0]
    return Handle(past.id, past.key, place=past.place) if past.id else None
