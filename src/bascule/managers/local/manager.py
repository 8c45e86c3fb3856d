"""
The port of ``local``: orders and wishes go into the spool, states are read from it.

No call waits for the supervisor; each makes sure that there is one where one is needed.
Files are small and local: what syncs goes to a thread, the rest is done on the spot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bascule.errors import Mistake, Refused, Unavailable, Uncertain
from bascule.failpoints import failpoint
from bascule.managers.local import abilities, output, probing
from bascule.managers.local.options import JobOptions, TargetOptions, read_options
from bascule.managers.local.reading import Reader
from bascule.managers.local.reports import ACCEPTED
from bascule.managers.local.slots import exceeds
from bascule.managers.local.spool import Spool
from bascule.managers.local.submission import KEY, check_job, check_signal, need_of, order_for
from bascule.managers.local.submitters import Submitter, Submitters, this_process
from bascule.managers.local.tasks import task_key
from bascule.managers.local.waking import Waker
from bascule.model import (
    SUBMITTER,
    Absent,
    Answer,
    CannotTell,
    Chunk,
    Found,
    Handle,
    Health,
    Job,
    Match,
    Observation,
    Report,
    Stray,
    belongs_to,
    has_index,
)
from bascule.ports import Order, Stream

_DISK = "is the disk full, or read-only?"


class LocalManager:
    """This machine as a resource manager, with its state in *home*."""

    abilities = abilities

    def __init__(self, home: Path, options: Mapping[str, Any], *, idle: float = 10.0) -> None:
        self._home = home.absolute()
        self._spool = Spool(home)
        self._submitters = Submitters(self._spool.place / "submitters")
        self._target_options = dict(options)
        read = read_options(options, TargetOptions, "target.options")
        self._capacity = read.capacity
        self._reader = Reader(self._spool)
        self._waker = Waker(self._spool, self._home, idle=idle, contain=read.cgroups)

    def check(self, job: Job) -> None:
        """Raise `Mistake` where *job* asks for something that this manager does not do."""
        check_job(job)
        self._options(job)

    def keep_submitter(self) -> str:
        """Keep the environment and the umask of this process for the jobs that it hands in."""
        try:
            self._spool.make()
            return self._submitters.keep(this_process())
        except OSError as trouble:
            raise Unavailable(self._cannot_write(trouble), hint=_DISK) from trouble

    async def submit(self, order: Order) -> Handle:
        """Accept the job durably under its key; it is started by the supervisor, once."""
        if not KEY.fullmatch(order.key):
            raise Mistake(f"`{order.key}` cannot be a key here", hint="keys are of a-z, 0-9 and -")
        if not isinstance(self._answer(order.key), Absent):
            await self._waker.wake()
            return self._handle(order.key)
        self.check(order.job)
        too_much = exceeds(need_of(order.job), self._capacity)
        if too_much:
            raise Refused(
                f"`local` refused job `{order.job.name}`: it asks for {too_much}",
                hint="ask for less, or raise the target's `options`",
            )
        await asyncio.to_thread(self._accept, order)
        await self._waker.wake()
        return self._handle(order.key)

    async def release(self, handle: Handle) -> None:
        """End our own hold."""
        await self._wish(handle, "release")

    async def find(self, key: str, since: datetime, *, may_have_run: bool = False) -> Found | Absent | CannotTell:
        """Look for the job's folder, which is there from acceptance on."""
        answer = self._answer(key)
        if isinstance(answer, Report):
            return Found((Match(self._handle(key), answer, held=self._reader.is_held(key)),))
        return answer

    async def observe(self, handles: Sequence[Handle], cursor: str = "") -> Observation:
        """Look at the states of all *handles*; see to it that a supervisor lives if one of them needs it."""
        as_of = datetime.now(UTC)
        before = self._reader.moment(handles)
        lives = self._waker.tell()
        if lives and cursor and cursor == before:
            return Observation(as_of, unchanged=True, cursor=cursor)
        answers = {handle.id: self._answer(handle.key or handle.id) for handle in handles}
        if any(_needs_supervisor(answer) for answer in answers.values()):
            new = [key for key, answer in answers.items() if answer is ACCEPTED]
            await self._waker.see_to(new, lives=lives)
        return Observation(as_of, answers, cursor=before)

    async def cancel(self, handle: Handle, index: int | None = None) -> None:
        """Ask for the end of the job and all its processes."""
        await self._wish(handle, "cancel", index=index)

    async def signal(self, handle: Handle, name: str) -> None:
        """Send a signal to all processes of a running job."""
        check_signal(name)
        await self._wish(handle, f"signal-{name.upper().removeprefix('SIG')}")

    async def hold(self, handle: Handle) -> None:
        """Keep a waiting job from starting."""
        await self._wish(handle, "hold", instead_of="unhold")

    async def unhold(self, handle: Handle) -> None:
        """Let it start again."""
        await self._wish(handle, "unhold", instead_of="hold")

    async def update(self, handle: Handle, walltime: timedelta) -> None:
        """Change the walltime, counted from the start."""
        await self._wish(handle, f"walltime-{walltime.total_seconds()!r}")

    async def sweep(self, installation: str) -> Sequence[Stray]:
        """List the jobs that are kept here."""
        strays = []
        for key in self._spool.kept():
            answer = self._answer(key) if belongs_to(key, installation) else None
            if isinstance(answer, Report):
                held = self._reader.is_held(key)
                strays.append(Stray(key, self._handle(key), held=held, over=answer.is_over))
        return strays

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int, index: int | None = None) -> Chunk:
        """Read a piece of what the job has written so far."""
        key = handle.key or handle.id
        place = self._reader.place_of(key if index is None else task_key(key, index), stream)
        return output.read(place.path, offset, limit, begin=place.begin) if place else Chunk(b"", offset, 0)

    async def forget(self, handle: Handle) -> None:
        """Remove the job's folder; files in a directory of the user's own stay."""
        key = handle.key or handle.id
        answer = self._answer(key)
        if isinstance(answer, Report) and not answer.is_over:
            raise Refused(f"`local` still has job `{key}` to look after", hint="cancel it first")
        await asyncio.to_thread(self._spool.forget, key)

    async def probe(self) -> Health:
        """Say whether jobs can be run here, and how well they can be contained."""
        return await asyncio.to_thread(probing.probe, self._spool, self._capacity)

    async def aclose(self) -> None:
        """Do nothing: nothing is kept open."""

    def _cannot_write(self, trouble: OSError) -> str:
        return f"`local` cannot write to `{self._spool.place}`: {trouble.strerror}"

    def _options(self, job: Job) -> JobOptions:
        mine = read_options(job.spec.options, JobOptions)
        if mine.model_fields_set:
            return mine
        return read_options(self._target_options, TargetOptions)

    def _handle(self, key: str) -> Handle:
        return Handle(id=key, key=key, place=str(self._spool.folder(key)))

    def _answer(self, key: str) -> Answer:
        if not KEY.fullmatch(key):
            return Absent(f"`{key}` is no key of this manager", datetime.now(UTC))
        return self._reader.answer(key)

    def _submitter(self, job: Job) -> Submitter:
        return self._submitters.of(job.annotations.get(SUBMITTER, "")) or this_process()

    def _accept(self, order: Order) -> None:
        folder = self._spool.folder(order.key)
        try:
            if folder.exists():
                return
            self._spool.make()
            self._spool.save_capacity(self._capacity)
            if self._spool.accept(order_for(order, folder, self._options(order.job), self._submitter(order.job))):
                self._spool.wishes.leave(order.key, "new")
                failpoint("local.submit.announced")
        except OSError as trouble:
            kind = Uncertain if folder.exists() else Unavailable
            raise kind(self._cannot_write(trouble), hint=_DISK) from trouble

    async def _wish(self, handle: Handle, what: str, *, instead_of: str = "", index: int | None = None) -> None:
        key = handle.key or handle.id
        answer = self._answer(key)
        if isinstance(answer, Absent):
            raise Refused(f"`local` has no job `{key}`: {answer.evidence}")
        if isinstance(answer, Report) and answer.is_over:
            return
        if index is not None:
            outline = self._spool.outline(key)
            if outline is None or not outline.indices or not has_index(outline.indices, index):
                raise Refused(f"`local` has no task {index} of job `{key}`")
            key = task_key(key, index)
        try:
            self._spool.wishes.leave(key, what, instead_of=instead_of)
        except OSError as trouble:
            raise Unavailable(self._cannot_write(trouble), hint=_DISK) from trouble
        await self._waker.wake()


def _needs_supervisor(answer: Answer) -> bool:
    """Tell whether somebody has to go on with a job, or to mend what is known of it."""
    return isinstance(answer, CannotTell) or (isinstance(answer, Report) and not answer.is_over)
