"""
Watching many jobs at the lowest cost that the version allows.

Where slurmctld lists states alone, those are asked for, and only jobs that moved are
read whole; 22.05 is asked for its list on the condition that something moved. What
slurmctld no longer has is looked up in the history, in one request.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bascule.errors import Error
from bascule.managers.slurm.answers import is_array, is_of, report_on
from bascule.managers.slurm.cluster import Brief, Cluster
from bascule.managers.slurm.history import History
from bascule.managers.slurm.note import note_from
from bascule.managers.slurm.records import Record
from bascule.managers.slurm.rewound import Rewinds, could_be_rewound
from bascule.managers.slurm.states import verdict_of
from bascule.model import Absent, Answer, Handle, Observation, Phase, Report
from bascule.ports import Clock

FEW = 4
"""So many jobs are cheaper asked for one by one than with the list of a large cluster."""
MANY = 20
"""More changed jobs than this are cheaper read from one list."""
REFRESH_AFTER = 60.0
REFRESH_AT_ONCE = 2
"""Waiting jobs whose reason and expected start are read again in each poll, though their state did not move."""
TRUST_FOR = 1800.0
"""Seconds for which a job's name is believed without another look: an id could be reused by a job of the same state."""

States = frozenset[tuple[int, tuple[str, ...]]]


@dataclass(slots=True)
class Known:
    """What was last read of a job: whose id it was, the states then, and the answer."""

    key: str
    states: States
    answer: Answer
    at: float
    tasks: frozenset[int]


class Observer:
    """Watches the jobs of one user at one cluster."""

    def __init__(self, cluster: Cluster, history: History, rewinds: Rewinds, clock: Clock) -> None:
        self._cluster = cluster
        self._history = history
        self._rewinds = rewinds
        self._clock = clock
        self._known: dict[str, Known] = {}
        self._finished: dict[tuple[str, str], dict[int, Record]] = defaultdict(dict)
        self._serial = 0
        self._trusted_since = 0.0
        self._listed = 0
        self._lock = asyncio.Lock()

    async def observe(self, handles: Sequence[Handle], cursor: str) -> Observation:
        """Ask for all *handles*; `Manager.observe`."""
        if not handles:
            return Observation(self._clock.now())
        facts = await self._cluster.facts()
        try:
            if facts.shape.has_states:
                async with self._lock:
                    return await self._by_states(handles, cursor)
            return await self._by_list(handles, cursor)
        except Error:
            # slurmctld may be another one when it comes back, with our ids given to others.
            self._known.clear()
            raise

    def forget(self, handle: Handle) -> None:
        """Read *handle* whole at the next look: something was just asked for it."""
        self._known.pop(handle.id, None)
        self._rewinds.forget(handle)

    # 22.05: the list, unless nothing moved.

    async def _by_list(self, handles: Sequence[Handle], cursor: str) -> Observation:
        as_of = self._clock.now()
        ids = {handle.id for handle in handles}
        if len(ids) == 1 or (len(ids) <= FEW and self._listed > FEW * 20):
            records = [record for number in ids for record in await self._one(number)]
            return Observation(as_of, await self._answers(handles, _by_id(records), as_of))
        listed, mark = await self._cluster.live_unless(int(cursor) if cursor.isdecimal() else 0)
        if listed is None:
            return Observation(as_of, unchanged=True, cursor=cursor)
        self._listed = len(listed)
        answers = await self._answers(handles, _by_id(listed), as_of)
        # An answer that is no report is asked for anew each time: the history may have caught up meanwhile.
        settled = mark and all(isinstance(answer, Report) for answer in answers.values())
        return Observation(as_of, answers, cursor=str(mark) if settled else "")

    # Later: the states, then what moved.

    async def _by_states(self, handles: Sequence[Handle], cursor: str) -> Observation:
        as_of = self._clock.now()
        ids = {handle.id for handle in handles}
        self._prune(ids)
        single = {handle.id for handle in handles if _is_single(handle)}
        briefs = await self._cluster.states_of_single(single)
        briefs += await self._cluster.states(number for number in ids - single if number.isdecimal())
        states = self._states_of(ids, briefs)
        moved = {handle.id for handle in handles if self._has_moved(handle, states[handle.id])}
        moved |= self._stale(ids - moved)
        gone = {number for number in moved if not states[number]}
        fresh = await self._read(moved - gone)
        answers = await self._answers([handle for handle in handles if handle.id in moved], fresh, as_of)
        now, keys = self._clock.monotonic(), {handle.id: handle.key for handle in handles}
        for number, answer in answers.items():
            tasks = frozenset(record.id for record in fresh.get(number, ()))
            self._known[number] = Known(keys[number], states[number], answer, now, tasks)
        self._serial += bool(answers)
        mark = f"s{self._serial}"
        if cursor and cursor == f"s{self._serial - bool(answers)}":
            return Observation(as_of, answers, unchanged=not answers, cursor=mark)
        told = {number: self._known[number] for number in ids if number in self._known}
        told = {number: known for number, known in told.items() if known.key == keys[number]}
        return Observation(as_of, {number: known.answer for number, known in told.items()}, cursor=mark)

    def _states_of(self, ids: set[str], briefs: list[Brief]) -> dict[str, States]:
        states: dict[str, set[tuple[int, tuple[str, ...]]]] = {number: set() for number in ids}
        arrays = {task: number for number, known in self._known.items() for task in known.tasks}
        strangers = []
        for brief in briefs:
            number = str(brief.id)
            if brief.is_task:
                number = arrays.get(brief.id, number if number in ids else "")
            if number in states:
                states[number].add((brief.id, brief.words))
            else:
                strangers.append((brief.id, brief.words))
        if strangers:
            # Tasks that started since the last look, of one of the arrays; which one, only a closer look can tell.
            for number in ids:
                known = self._known.get(number)
                if known is None or len(known.tasks) > 1 or not states[number] or _is_array(known):
                    states[number].update(strangers)
        return {number: frozenset(found) for number, found in states.items()}

    def _has_moved(self, handle: Handle, states: States) -> bool:
        known = self._known.get(handle.id)
        if known is None or known.key != handle.key:
            return True  # slurmctld may have given the id to another of ours
        return known.states != states or not isinstance(known.answer, Report)

    def _stale(self, ids: set[str]) -> set[str]:
        now = self._clock.monotonic()
        if now - self._trusted_since > TRUST_FOR:
            self._trusted_since = now
            return ids
        waiting = [
            (known.at, number)
            for number in ids
            if (known := self._known[number]).at < now - REFRESH_AFTER
            and isinstance(known.answer, Report)
            and known.answer.phase in {Phase.QUEUED, Phase.HELD}
        ]
        return {number for _, number in sorted(waiting)[:REFRESH_AT_ONCE]}

    async def _read(self, ids: set[str]) -> dict[str, list[Record]]:
        if len(ids) > MANY:
            return _by_id(await self._cluster.live(ids))
        found: dict[str, list[Record]] = {}
        for number in sorted(ids, key=int):
            found[number] = await self._one(number)
        return found

    def _prune(self, ids: set[str]) -> None:
        if len(self._known) > 2 * len(ids) + 1000:
            self._known = {number: known for number, known in self._known.items() if number in ids}
            self._finished = defaultdict(dict, {k: v for k, v in self._finished.items() if k[0] in ids})

    # Both.

    async def _one(self, number: str) -> list[Record]:
        return await self._cluster.live_one(number) if number.isdecimal() else []

    async def _answers(
        self, handles: Sequence[Handle], live: dict[str, list[Record]], now: datetime
    ) -> dict[str, Answer]:
        answers: dict[str, Answer] = {}
        elsewhere: list[tuple[Handle, list[Record]]] = []
        doubtful: list[tuple[Handle, list[Record]]] = []
        for handle in handles:
            if not handle.id.isdecimal():
                answers[handle.id] = Absent(f"`{handle.id}` is no id of a Slurm job", now)
                continue
            ours = [record for record in live.get(handle.id, ()) if is_of(record, handle)]
            if is_array(handle, ours):
                ours = self._with_finished(handle, ours)
                if not ours or self._lacks(handle, ours):
                    elsewhere.append((handle, ours))
                    continue
            if ours:
                answers[handle.id] = report_on(handle, ours, now)
                if could_be_rewound(ours) or self._rewinds.may_be_over(ours, now):
                    doubtful.append((handle, ours))
            else:
                elsewhere.append((handle, []))
        if elsewhere:
            answers |= await self._history.answers(elsewhere, now)
        if doubtful:
            answers |= await self._rewinds.answers(doubtful, now)
        return answers

    def _with_finished(self, handle: Handle, records: list[Record]) -> list[Record]:
        """Add the tasks that were seen to end, and that slurmctld has dropped since."""
        finished = self._finished[handle.id, handle.key]
        for record in records:
            if record.task is not None:
                verdict = verdict_of(record)
                if verdict.phase is not None and verdict.phase.is_final and verdict.settled:
                    finished[record.task] = record
                else:
                    finished.pop(record.task, None)
        seen = {record.task for record in records}
        return [*records, *(record for task, record in finished.items() if task not in seen)]

    @staticmethod
    def _lacks(handle: Handle, records: list[Record]) -> bool:
        wanted = set(note_from(handle.place).indices)
        known = {record.task for record in records} | {index for record in records for index in record.waiting}
        return not wanted <= known


def _is_single(handle: Handle) -> bool:
    """Tell whether *handle* is surely no array: we submitted it, and know what it was."""
    return handle.id.isdecimal() and bool(handle.key and handle.place) and not note_from(handle.place).array


def _is_array(known: Known) -> bool:
    return isinstance(known.answer, Report) and known.answer.tasks is not None


def _by_id(records: list[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        found[str(record.of)].append(record)
    return found
