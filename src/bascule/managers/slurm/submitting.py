"""Submitting a job: once, held where that is asked, and taken back where less was accepted than asked for."""

from __future__ import annotations

from msgspec.structs import replace

from bascule.errors import Error, Refused, Uncertain
from bascule.journal import Logger
from bascule.managers.slurm.changing import Changer
from bascule.managers.slurm.description import Wanted, marks_in, submission, wanted_by
from bascule.managers.slurm.discovery import Discovery, Facts
from bascule.managers.slurm.making import Folders
from bascule.managers.slurm.options import TargetOptions
from bascule.managers.slurm.rest import INVALID_PARTITION, JOB_HELD, Answer, Rest
from bascule.managers.slurm.wire import Partitions, integer
from bascule.model import Handle, Job
from bascule.ports import Clock, Order

log = Logger(__name__)


class Submitter:
    """Submits jobs to one cluster, as one user."""

    def __init__(
        self,
        rest: Rest,
        discovery: Discovery,
        changer: Changer,
        clock: Clock,
        options: TargetOptions,
        root: str | None,
    ) -> None:
        self._rest = rest
        self._discovery = discovery
        self._changer = changer
        self._clock = clock
        self._options = options
        self._root = root
        self._folders = Folders(root or "")

    def check(self, job: Job) -> None:
        """Raise `Mistake` where Slurm cannot take *job*; one that is adopted is there already."""
        if job.spec.adopt is not None:
            return
        wanted = wanted_by(job, self._options, key="key", root=self._root)
        known = self._discovery.known
        if known is not None:
            self._body(wanted, known, Order(job, "key"))

    async def submit(self, order: Order) -> Handle:
        """Submit once, held where the order says so."""
        facts = await self._discovery.facts()
        wanted = wanted_by(order.job, self._options, key=order.key, root=self._root)
        body = self._body(wanted, facts, order)
        for line in wanted.overridden:
            log.warning("slurm.line_overridden", line=line)
        if self._root is not None and wanted.folder == f"{self._root.rstrip('/')}/{order.key}":
            await self._folders.make(wanted.folder, self._rest.user)
        answer = await self._changer.change("POST", "job/submit", body)
        number = integer(answer.envelope.job_id) or 0
        if number <= 0:
            raise await self._refusal(answer, order)
        note = wanted.note
        if self._marks(facts, order.key):
            note = replace(note, marked=True)
        handle = Handle(id=str(number), key=order.key, place=note.written())
        dropped = answer.ignored or [
            error.words for error in answer.envelope.errors if error.code is not None and error.code >= 9000
        ]
        if dropped:
            return await self._take_back(handle, dropped, held=order.held)
        for error in answer.envelope.errors:
            if error.code != JOB_HELD:
                log.warning("slurm.submitted_with", job_id=number, words=error.words)
        self._changer.note_submitted(handle)
        return handle

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
            await self._changer.cancel(handle)
        except Error as trouble:
            if not held:
                log.warning("slurm.fields_dropped", job_id=handle.id, words=dropped, not_ended=trouble.message)
                return handle
        raise Refused(
            f"{self._rest.where} does not know all that was asked for: {'; '.join(dropped)}",
            hint="leave it out, or ask the cluster's administrator for a newer slurmrestd",
        )
