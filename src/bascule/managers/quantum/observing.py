"""
One look at many jobs: those that are not over in one list, the others one by one, once.

A job's end is told when what it left is here and its session is closed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from bascule.errors import Error
from bascule.journal import Logger
from bascule.managers.quantum.bringing import Porter
from bascule.managers.quantum.note import mark_of, note_from, note_of
from bascule.managers.quantum.service import Service
from bascule.managers.quantum.sessions import Sessions
from bascule.managers.quantum.states import phase_of, report_of
from bascule.managers.quantum.together import together
from bascule.managers.quantum.wire import JobRecord
from bascule.model import Absent, Answer, Handle, Observation, Phase, parts_of
from bascule.ports import Clock

FEW = 2
"""So many jobs are cheaper asked for one by one."""
MOST_ALONE = 100
"""Jobs that are asked for one by one in one look; the others come in the next."""
MOST_PLACES = 8
"""Waiting jobs whose place in the queue is asked for in one look."""
TRIES = 5
"""How often what a job left is fetched before it is over without."""
REMEMBERED = 5000
log = Logger(__name__)


class Observer:
    """Watches the jobs of one instance."""

    def __init__(self, service: Service, sessions: Sessions, porter: Porter, clock: Clock) -> None:
        self._service = service
        self._sessions = sessions
        self._porter = porter
        self._clock = clock
        self._tries: OrderedDict[str, int] = OrderedDict()

    async def observe(self, handles: Sequence[Handle]) -> Observation:
        """Ask for all *handles*; `Manager.observe`."""
        as_of = self._clock.now()
        records = await self._pending(handles) if len(handles) > FEW else {}
        alone = [handle for handle in handles if handle.id not in records][:MOST_ALONE]
        found = await together([self._service.job(handle.id) for handle in alone])
        seen: dict[str, JobRecord | None] = {**records}
        seen.update((handle.id, record) for handle, record in zip(alone, found, strict=True))
        covered = [handle for handle in handles if handle.id in seen]
        waiting = [handle.id for handle in covered if _waits(seen[handle.id])]
        placed = set(waiting[:MOST_PLACES])
        answers = await together([self._answer(handle, seen[handle.id], placed) for handle in covered])
        return Observation(as_of, {handle.id: answer for handle, answer in zip(covered, answers, strict=True)})

    async def _pending(self, handles: Sequence[Handle]) -> dict[str, JobRecord]:
        """Return those of *handles* that are not over, in as many lists as there are installations: one."""
        wanted = {handle.id for handle in handles}
        marks = {mark_of(parts.installation) for handle in handles if (parts := parts_of(handle.key)) is not None}
        lists = await together([self._service.jobs(tags=mark, pending="true") for mark in sorted(marks)])
        return {record.id: record for records in lists for record in records if record.id in wanted}

    async def _answer(self, handle: Handle, record: JobRecord | None, placed: set[str]) -> Answer:
        if record is None:
            note = note_from(handle.place)
            if note.closes:
                await self._sessions.drop(note.session)
            return Absent(f"the service has no job `{handle.id}`", self._clock.now())
        phase = phase_of(record)
        if phase is None or (phase is Phase.QUEUED and record.id not in placed):
            return report_of(record, None)
        if not phase.is_final:
            return report_of(record, await self._service.metrics(record))
        where, settled = await self._settled(record, handle)
        return report_of(record, await self._service.metrics(record), settled=settled, where=where)

    async def _settled(self, record: JobRecord, handle: Handle) -> tuple[str, bool]:
        """Do what an end asks for; return where the results are, and whether all of it is done, or given up."""
        note = note_from(handle.place)
        note = note if note.session else note_of(record)
        try:
            if note.closes:
                await self._sessions.leave(note.session)
            where = await self._porter.bring(record, handle)
        except Error as trouble:
            tries = self._tries[record.id] = self._tries.get(record.id, 0) + 1
            while len(self._tries) > REMEMBERED:
                self._tries.popitem(last=False)
            log.warning("quantum.not_settled", job_id=record.id, tries=tries, error=trouble.message)
            return f"what it left is not here yet: {trouble.message}", tries >= TRIES
        self._tries.pop(record.id, None)
        return where, True


def _waits(record: JobRecord | None) -> bool:
    return record is not None and phase_of(record) is Phase.QUEUED
