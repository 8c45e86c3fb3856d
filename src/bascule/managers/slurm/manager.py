"""
The port: what the core asks of Slurm, each call one try.

Reading is done by ``observing`` and ``finding``; here is what changes something. Before
anything is asked of a job, it is looked at: an id may be a stranger's by now, and asking
slurmctld 24.11 to end a job that is not the caller's can deadlock it.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from bascule.errors import Error, Mistake, Refused, Unauthorized, Unavailable, Uncertain
from bascule.managers.slurm.answers import is_of
from bascule.managers.slurm.cluster import Cluster
from bascule.managers.slurm.description import MARKS, Wanted, marks_in, submission, wanted_by
from bascule.managers.slurm.discovery import Discovery, Facts
from bascule.managers.slurm.finding import Finder
from bascule.managers.slurm.folder import make, remove
from bascule.managers.slurm.history import History
from bascule.managers.slurm.note import note_from
from bascule.managers.slurm.observing import Observer
from bascule.managers.slurm.options import TargetOptions
from bascule.managers.slurm.output import Output
from bascule.managers.slurm.patterns import is_beneath
from bascule.managers.slurm.probing import probe
from bascule.managers.slurm.records import Record
from bascule.managers.slurm.rest import (
    ACCESS_DENIED,
    ALREADY_OVER,
    INVALID_PARTITION,
    JOB_HELD,
    NO_SUCH_JOB,
    Answer,
    Doubtful,
    Rest,
)
from bascule.managers.slurm.wire import Partitions, integer
from bascule.model import Absent, CannotTell, Chunk, Found, Handle, Health, Job, Observation, Stray
from bascule.ports import Abilities, Clock, Order, Stream

log = structlog.get_logger()

SIGNAL = re.compile(r"(?:SIG)?([A-Z0-9+-]{2,12})")


class SlurmManager:
    """One user's jobs at one cluster."""

    def __init__(
        self, rest: Rest, options: TargetOptions, clock: Clock, *, name: str, root: str | None, held: bool
    ) -> None:
        self._rest = rest
        self._options = options
        self._clock = clock
        self._name = name
        self._root = root
        self._discovery = Discovery(rest)
        self._cluster = Cluster(rest, self._discovery, clock)
        self._history = History(self._cluster, root, min_job_age=options.min_job_age)
        self._observer = Observer(self._cluster, self._history, clock)
        self._finder = Finder(self._cluster, clock, root=root, held=held, min_job_age=options.min_job_age)
        self._output = Output(self._cluster, root)

    @property
    def abilities(self) -> Abilities:
        """What can be done there: history and warnings are known once it was asked."""
        known = self._discovery.known
        return Abilities(
            key="searched",
            holds=True,
            history=known.accounting if known else False,
            arrays=True,
            hold=True,
            signal=True,
            update_walltime=True,
            output=self._root is not None,
            warns=known.shape.warns if known else False,
            walltime=True,
            settles=self._options.settle_seconds,
            poll_soon=2.0,
            poll_rest=30.0,
        )

    def check(self, job: Job) -> None:
        """Raise `Mistake` where Slurm cannot take *job*."""
        wanted = wanted_by(job, self._options, key="key", root=self._root)
        known = self._discovery.known
        if known is not None:
            self._body(wanted, known, Order(job, "key"))

    async def submit(self, order: Order) -> Handle:
        """Submit once, held where the order says so."""
        facts = await self._discovery.facts()
        wanted = wanted_by(order.job, self._options, key=order.key, root=self._root)
        body = self._body(wanted, facts, order)
        if self._root is not None and wanted.folder == f"{self._root.rstrip('/')}/{order.key}":
            await asyncio.to_thread(make, self._root, wanted.folder, self._rest.user)
        answer = await self._change("POST", "job/submit", body)
        number = integer(answer.envelope.job_id) or 0
        if number <= 0:
            raise await self._refusal(answer, order)
        note = wanted.note
        if self._marks(facts, order.key):
            note = type(note)(note.folder, note.output, note.error, note.array, marked=True)
        handle = Handle(id=str(number), key=order.key, place=note.written())
        dropped = answer.ignored or [
            error.words for error in answer.envelope.errors if error.code is not None and error.code >= 9000
        ]
        if dropped:
            return await self._take_back(handle, dropped, held=order.held)
        for error in answer.envelope.errors:
            if error.code != JOB_HELD:
                log.warning("slurm.submitted_with", job_id=number, words=error.words)
        return handle

    async def release(self, handle: Handle) -> None:
        """End our own hold."""
        await self._set_hold(handle, hold=False)

    async def hold(self, handle: Handle) -> None:
        """Keep a waiting job from starting."""
        await self._set_hold(handle, hold=True)

    async def unhold(self, handle: Handle) -> None:
        """End the user's hold."""
        await self._set_hold(handle, hold=False)

    async def find(self, key: str, since: datetime) -> Found | Absent | CannotTell:
        """Look for *key* in the live list and the history."""
        return await self._finder.find(key, since)

    async def observe(self, handles: Sequence[Handle], cursor: str = "") -> Observation:
        """Ask for all *handles* by the cheapest means."""
        return await self._observer.observe(handles, cursor)

    async def cancel(self, handle: Handle, index: int | None = None) -> None:
        """End the job, or one task; one that is over is no error."""
        records = await self._ours(handle)
        if not records:
            return
        self._observer.forget(handle)
        number = handle.id if index is None else f"{handle.id}_{index}"
        answer = await self._change("DELETE", f"job/{number}")
        if answer.codes <= ALREADY_OVER:
            if answer.status >= 500 and not answer.codes:
                raise Uncertain(f"{self._rest.where} failed at ending job `{number}`: {answer.words}")
            return
        raise self._refused(f"would not end job `{number}`", answer)

    async def signal(self, handle: Handle, name: str) -> None:
        """Send a signal to all of the job."""
        matched = SIGNAL.fullmatch(name.upper())
        if matched is None:
            raise Mistake(f"`{name}` is no name of a signal", hint="for instance `USR1`")
        if not await self._ours(handle):
            raise Refused(f"{self._rest.where} has no job `{handle.id}` that a signal could be sent to")
        answer = await self._change("DELETE", f"job/{handle.id}", query=[("signal", matched[1])])
        if answer.codes or answer.status >= 400:
            raise self._refused(f"would not send {name} to job `{handle.id}`", answer)

    async def update(self, handle: Handle, walltime: timedelta) -> None:
        """Change the walltime."""
        facts = await self._discovery.facts()
        minutes = max(1, math.ceil(walltime.total_seconds() / 60))
        limit: object = minutes if facts.shape.old else {"set": True, "infinite": False, "number": minutes}
        await self._update(handle, {"time_limit": limit}, f"would not change the walltime of job `{handle.id}`")

    async def sweep(self, installation: str) -> Sequence[Stray]:
        """List what bears a key of *installation*."""
        return await self._finder.sweep(installation)

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int, index: int | None = None) -> Chunk:
        """Read a piece of an output file through the shared folder."""
        return await self._output.read(handle, stream, offset, limit, index)

    async def forget(self, handle: Handle) -> None:
        """Remove the job's marker; its folder and output are the user's."""
        if self._root is not None and handle.key and "/" not in handle.key and handle.key not in {".", ".."}:
            await asyncio.to_thread(remove, self._root, marks_in(self._root, handle.key))

    async def probe(self) -> Health:
        """Try every step."""
        return await probe(self._rest, self._discovery, self._root)

    async def aclose(self) -> None:
        """Close connections."""
        await self._rest.aclose()

    # How it is asked.

    def _marks(self, facts: Facts, key: str) -> str:
        """Return the folder for a marker, where there is one and nothing else would remember an end."""
        return marks_in(self._root, key) if self._root is not None and not facts.accounting else ""

    def _body(self, wanted: Wanted, facts: Facts, order: Order) -> dict[str, object]:
        return submission(
            wanted,
            facts.shape,
            key=order.key,
            held=order.held,
            secrets=order.secret_env,
            marks=self._marks(facts, order.key),
            now=self._clock.now(),
        )

    async def _change(
        self, method: str, rest: str, body: object = None, query: Sequence[tuple[str, object]] = ()
    ) -> Answer:
        facts = await self._discovery.facts()
        try:
            return await self._rest.change(method, facts.shape.path(rest), body, query)
        except Doubtful as doubt:
            await self._clear_up(facts)
            raise Uncertain(doubt.message, hint=doubt.hint) from doubt
        except Unavailable:
            self._discovery.forget()
            raise

    async def _clear_up(self, facts: Facts) -> None:
        """Raise `Unauthorized` where the sign-in is what is wrong: the same question again that changes nothing."""
        try:
            await self._rest.get(facts.shape.path("jobs"), [("update_time", 4102444800)])
        except Unauthorized:
            raise
        except Error:
            return

    async def _ours(self, handle: Handle) -> list[Record]:
        """Return what slurmctld has of the job, if it is ours; raise `Refused` where the id is a stranger's."""
        if not handle.id.isdecimal():
            raise Refused(f"`{handle.id}` is no id of a Slurm job")
        records = await self._cluster.live_one(handle.id)
        ours = [
            record for record in records if record.user == self._rest.user and (not handle.key or is_of(record, handle))
        ]
        if records and not ours:
            stranger = records[0]
            raise Refused(
                f"job `{handle.id}` at {self._rest.where} is not ours: it is `{stranger.name}` of `{stranger.user}`"
            )
        return ours

    async def _set_hold(self, handle: Handle, *, hold: bool) -> None:
        what = "hold" if hold else "release"
        await self._update(handle, {"hold": hold}, f"would not {what} job `{handle.id}`")

    async def _update(self, handle: Handle, fields: dict[str, object], refusal: str) -> None:
        records = await self._ours(handle)
        if not records:
            raise Refused(f"{self._rest.where} {refusal}: it does not have it any more")
        self._observer.forget(handle)
        # The fields stand alone: within `{"job": ...}` slurmrestd takes them with a warning, and does nothing.
        answer = await self._change("POST", f"job/{handle.id}", fields)
        errors = answer.envelope.errors
        if answer.ignored:
            raise Refused(f"{self._rest.where} {refusal}: {'; '.join(answer.ignored)}")
        if answer.status < 400 and not errors:
            return
        if answer.status < 400 and any(record.array for record in records) and not answer.codes:
            # 22.05 answers an update of an array with an error without a number, also when it was done.
            if await self._has_hold(handle, fields):
                return
            raise Uncertain(f"{self._rest.where} does not say whether it was done: {answer.words}")
        raise self._refused(refusal, answer)

    async def _has_hold(self, handle: Handle, fields: dict[str, object]) -> bool:
        if "hold" not in fields:
            return True
        records = await self._cluster.live_one(handle.id)
        waiting = [record for record in records if "PENDING" in record.words]
        held = [record for record in waiting if record.hold or record.reason == "JobHeldUser"]
        return len(held) == len(waiting) if fields["hold"] else not held

    def _refused(self, what: str, answer: Answer) -> Error:
        if answer.status >= 500 and not answer.codes:
            return Uncertain(f"{self._rest.where} {what}: {answer.words}")
        hint = "may this user change this job?" if ACCESS_DENIED in answer.codes else ""
        if NO_SUCH_JOB in answer.codes:
            hint = "slurmctld does not have it any more"
        return Refused(f"{self._rest.where} {what}: {answer.words}", hint=hint)

    async def _refusal(self, answer: Answer, order: Order) -> Error:
        """Return the error for a submit that made no job."""
        if answer.status < 400 and not answer.envelope.errors:
            return Uncertain(f"{self._rest.where} took job `{order.job.name}` without saying under which id")
        if answer.status >= 500 and not answer.codes:
            return Uncertain(f"{self._rest.where} failed at submitting job `{order.job.name}`: {answer.words}")
        hint = ""
        if INVALID_PARTITION in answer.codes:
            names = await self._partitions()
            if names:
                hint = f"set `options.partition` to one of {', '.join(f'`{name}`' for name in names[:20])}"
        return Refused(f"{self._rest.where} refused job `{order.job.name}`: {answer.words}", hint=hint)

    async def _partitions(self) -> list[str]:
        facts = await self._discovery.facts()
        try:
            answer = await self._rest.get(facts.shape.path("partitions"))
            return [each.name for each in answer.read(Partitions).partitions if each.name]
        except Error:
            return []

    async def _take_back(self, handle: Handle, dropped: list[str], *, held: bool) -> Handle:
        """Remove a job of which slurmrestd dropped a field: less than what was asked for must not run."""
        try:
            await self.cancel(handle)
        except Error as trouble:
            if not held:
                log.warning("slurm.fields_dropped", job_id=handle.id, words=dropped, not_ended=trouble.message)
                return handle
        raise Refused(
            f"{self._rest.where} does not know all that was asked for: {'; '.join(dropped)}",
            hint="leave it out, or ask the cluster's administrator for a newer slurmrestd",
        )


__all__ = ["MARKS", "SlurmManager", "is_beneath", "note_from"]
