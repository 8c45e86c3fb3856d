"""
Watching many jobs at the lowest cost that the interface allows.

All are asked for in brief, some hundred in a request; only those whose state moved are read
whole, in one more. What LSF no longer has is looked up in its history, in one request.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bascule.errors import Error, Unavailable
from bascule.managers.lsf.center import Center, Listing
from bascule.managers.lsf.records import Record
from bascule.managers.lsf.reporting import Reporter, is_of
from bascule.managers.lsf.states import is_over
from bascule.model import Absent, Answer, CannotTell, Handle, Observation, Phase, Report
from bascule.ports import Clock

REFRESH_AFTER = 60.0
REFRESH_AT_ONCE = 20
"""Waiting jobs whose reason is read again in each poll, though their state did not move."""
ENDS_AT_ONCE = 40
"""Ends that are looked into in one poll; the others are no news until the next."""

States = frozenset[tuple[int | None, str, str]]


@dataclass(slots=True)
class Known:
    """What was last said of a job: its states then, the answer, and when it was read."""

    states: States
    answer: Answer
    at: float


class Observer:
    """Watches the jobs of one user at one Application Center."""

    def __init__(self, center: Center, reporter: Reporter, clock: Clock) -> None:
        self._center = center
        self._reporter = reporter
        self._clock = clock
        self._known: dict[tuple[str, str], Known] = {}
        self._serial = 0
        self._lock = asyncio.Lock()

    async def observe(self, handles: Sequence[Handle], cursor: str) -> Observation:
        """Ask for all *handles*; `Manager.observe`."""
        if not handles:
            return Observation(self._clock.now())
        try:
            async with self._lock:
                return await self._observed(handles, cursor)
        except Error:
            # LSF may be another one when it comes back, with our ids given to others.
            self._known.clear()
            raise

    def forget(self, handle: Handle) -> None:
        """Read *handle* whole at the next look: something was just asked for it."""
        self._known.pop((handle.id, handle.key), None)

    async def _observed(self, handles: Sequence[Handle], cursor: str) -> Observation:
        as_of = self._clock.now()
        self._prune(handles)
        numbered = [handle for handle in handles if handle.id.isdecimal()]
        brief = await self._center.states(handle.id for handle in numbered) if numbered else Listing([])
        states = {handle: _states(brief.records, handle) for handle in numbered}
        moved = {handle: self._has_moved(handle, states[handle]) for handle in numbered}
        wanted = [handle for handle in numbered if moved[handle]]
        wanted += self._stale([handle for handle in numbered if not moved[handle]])
        there = [handle for handle in wanted if states[handle]]
        full = await self._center.details(handle.id for handle in there) if there else Listing([])
        fresh, strangers = await self._reports(there, full.records)
        gone = [handle for handle in wanted if not states[handle]] if brief.whole else []
        try:
            fresh |= await self._gone([*gone, *strangers], as_of)
        except Unavailable:
            # A history that is down is no news about those that are gone, and none of the others' business.
            if len(gone) + len(strangers) == len(handles):
                raise
        fresh |= {
            handle: Absent(f"`{handle.id}` is no id of a job of LSF", as_of)
            for handle in handles
            if not handle.id.isdecimal()
        }
        now = self._clock.monotonic()
        for handle, answer in fresh.items():
            self._known[handle.id, handle.key] = Known(states.get(handle, frozenset()), answer, now)
        self._serial += bool(fresh)
        mark = f"s{self._serial}"
        if cursor and cursor == f"s{self._serial - bool(fresh)}":
            answers = {handle.id: answer for handle, answer in fresh.items()}
            return Observation(as_of, answers, unchanged=not answers, cursor=mark)
        # What moved and could not be told just now is left out: what was said before is no longer so.
        told = [handle for handle in handles if handle in fresh or not moved.get(handle, True)]
        return Observation(
            as_of, {handle.id: self._known[handle.id, handle.key].answer for handle in told}, cursor=mark
        )

    def _has_moved(self, handle: Handle, states: States) -> bool:
        known = self._known.get((handle.id, handle.key))
        if known is None or known.states != states or not isinstance(known.answer, Report):
            return True
        # Since when it runs is told by its wrapper where LSF does not tell: some moments later.
        answer = known.answer
        return answer.phase is Phase.RUNNING and answer.started_at is None and answer.tasks is None

    def _stale(self, handles: list[Handle]) -> list[Handle]:
        """Return waiting jobs whose reason was last read a while ago, the oldest first."""
        now = self._clock.monotonic()
        waiting = [
            (known.at, number)
            for number, handle in enumerate(handles)
            if (known := self._known[handle.id, handle.key]).at < now - REFRESH_AFTER
            and isinstance(known.answer, Report)
            and known.answer.phase in {Phase.QUEUED, Phase.HELD}
        ]
        return [handles[number] for _, number in sorted(waiting)[:REFRESH_AT_ONCE]]

    async def _reports(
        self, handles: Sequence[Handle], records: Sequence[Record]
    ) -> tuple[dict[Handle, Answer], list[Handle]]:
        """Return what is said of *handles*, and those whose ids are a stranger's by now."""
        by_id: dict[str, list[Record]] = defaultdict(list)
        for record in records:
            by_id[record.id].append(record)
        answers: dict[Handle, Answer] = {}
        strangers = []
        ends = 0
        for handle in handles:
            ours = [record for record in by_id[handle.id] if is_of(record, handle)]
            if not ours:
                # Where there is nothing at all it went between the two looks: the next one tells.
                strangers += [handle] * bool(by_id[handle.id])
                continue
            ends += any(is_over(record) for record in ours)
            if ends <= ENDS_AT_ONCE and (report := await self._reporter.on(handle, ours)) is not None:
                answers[handle] = report
        return answers, strangers

    async def _gone(self, handles: Sequence[Handle], as_of: datetime) -> dict[Handle, Answer]:
        """Say what became of jobs that LSF's list does not have."""
        if not handles:
            return {}
        past = await self._center.past([handle.id for handle in handles])
        answers: dict[Handle, Answer] = {}
        for handle in handles:
            ours = [record for record in past or () if is_of(record, handle) and is_over(record)]
            report = await self._reporter.on(handle, ours[-1:]) if ours else await self._reporter.by_marks(handle)
            if report is not None:
                answers[handle] = report
            elif not ours:
                answers[handle] = CannotTell(
                    "LSF no longer lists it, and neither its history nor its folder tells of an end"
                )
        return answers

    def _prune(self, handles: Sequence[Handle]) -> None:
        if len(self._known) > 2 * len(handles) + 1000:
            wanted = {(handle.id, handle.key) for handle in handles}
            self._known = {wish: known for wish, known in self._known.items() if wish in wanted}


def _states(records: Sequence[Record], handle: Handle) -> States:
    """Return the states of the job in brief; a list that gives no names is believed until it is read whole."""
    return frozenset(
        (record.index, record.status, record.name)
        for record in records
        if record.id == handle.id and (not record.name or is_of(record, handle))
    )
