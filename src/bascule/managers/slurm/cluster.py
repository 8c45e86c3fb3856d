"""
Questions to slurmctld and slurmdbd, in their own terms: jobs, states, history.

Every answer is a list of `Record`; what it means for a handle is said by ``answers``.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from datetime import datetime
from typing import NamedTuple

from bascule.errors import Refused, Unavailable
from bascule.managers.slurm.discovery import Discovery, Facts, past_query
from bascule.managers.slurm.records import Record, from_live, from_past
from bascule.managers.slurm.rest import NO_SUCH_JOB, NOTHING_FOUND, Answer, Query, Rest
from bascule.managers.slurm.wire import BriefJobs, Diagnosis, LiveJobs, PastJobs, integer, words
from bascule.ports import Clock

IDS_AT_ONCE = 400
"""Ids in one query: some 6 KiB of address."""
MOST_OTHERS = 4
"""How many times as many jobs the cluster may have as are ours, for one list of all states to be cheaper than several."""
PAST_ONE_BY_ONE = 12
"""How many jobs 22.05 is asked for in its history at a time, which it can only do one by one."""
CLOCK_HOLDS = 60.0
SLACK_IN_PAST = 86_400
ARRAY_MARK = "_"


class Brief(NamedTuple):
    """A job's or task's own id and state."""

    id: int
    is_task: bool
    words: tuple[str, ...]


class Cluster:
    """One cluster, as one user sees it."""

    def __init__(self, rest: Rest, discovery: Discovery, clock: Clock) -> None:
        self._clock = clock
        self._rest = rest
        self._discovery = discovery
        self._ahead: float | None = None
        self._measured = -math.inf
        self._crowd = 0

    @property
    def user(self) -> str:
        """Whose jobs are ours."""
        return self._rest.user

    @property
    def where(self) -> str:
        """Who is spoken to, for messages."""
        return self._rest.where

    async def facts(self) -> Facts:
        """Return the version and whether there is accounting."""
        return await self._discovery.facts()

    async def live(self, of: Container[str] | None = None) -> list[Record]:
        """Return all jobs that slurmctld knows, or those *of* the ids alone, tasks of arrays too."""
        facts = await self.facts()
        answer = await self._rest.get(facts.shape.path("jobs"), large=True)
        return self._records(answer, of)

    async def live_unless(self, since: int) -> tuple[list[Record] | None, int]:
        """Return all jobs that slurmctld knows, and the time to ask with next; None where nothing moved *since*."""
        facts = await self.facts()
        began = self._clock.monotonic()
        query = [("update_time", since)] if since else []
        answer = await self._rest.get(facts.shape.path("jobs"), query, large=True)
        if answer.unchanged or (since and _says_unchanged(answer)):
            return None, since
        records = self._records(answer)
        told = integer(answer.envelope.last_update)
        return records, told if told is not None else await self._time_at(began)

    async def live_one(self, number: str) -> list[Record]:
        """Return a job, or all tasks of an array; nothing where slurmctld has no such id."""
        facts = await self.facts()
        answer = await self._rest.get(facts.shape.path(f"job/{number}"))
        return [] if NO_SUCH_JOB in answer.codes else self._records(answer)

    async def states(self, ids: Iterable[str]) -> list[Brief]:
        """Return the states alone; an id that slurmctld does not know is left out."""
        wanted = list(ids)
        found: list[Brief] = []
        for start in range(0, len(wanted), IDS_AT_ONCE):
            found += await self._states([("job_id", number) for number in wanted[start : start + IDS_AT_ONCE]])
        return found

    async def states_of_single(self, ids: set[str]) -> list[Brief]:
        """Return the states of jobs that are no arrays: of many, in one request."""
        if len(ids) <= IDS_AT_ONCE or self._crowd > MOST_OTHERS * len(ids):
            return await self.states(ids)
        everybody = await self._states([])
        self._crowd = len(everybody)
        # A task is told by its own id, not that of its array: whose it is cannot be seen here.
        return [brief for brief in everybody if not brief.is_task and str(brief.id) in ids]

    async def _states(self, query: Query) -> list[Brief]:
        facts = await self.facts()
        answer = await self._rest.get(facts.shape.path("jobs/state"), query, large=not query)
        if answer.status >= 400 and NO_SUCH_JOB not in answer.codes:
            raise Unavailable(f"{self._rest.where} would not tell the jobs' states: {answer.words}")
        found = []
        for job in answer.read(BriefJobs).jobs:
            number, mark, _ = job.job_id.partition(ARRAY_MARK)
            own = number.partition("+")[0]
            if own.isdecimal():
                found.append(Brief(int(own), bool(mark), words(job.state)))
        return found

    async def past(self, ids: Iterable[str]) -> tuple[list[Record], set[str]]:
        """Return what slurmdbd has of jobs, and the ids that it was asked for."""
        facts = await self.facts()
        wanted = list(dict.fromkeys(ids))
        if not facts.shape.ids_repeat:
            asked = wanted[:PAST_ONE_BY_ONE]
            rows = [row for number in asked for row in await self._past(facts, [("step", number)])]
            return rows, set(asked)
        rows = []
        for start in range(0, len(wanted), IDS_AT_ONCE):
            query: Query = [("step", number) for number in wanted[start : start + IDS_AT_ONCE]]
            rows += await self._past(facts, past_query(facts.shape, query))
        return rows, set(wanted)

    async def past_named(self, name: str, since: datetime) -> list[Record]:
        """Return what slurmdbd has of jobs of that name, from well before *since* on."""
        facts = await self.facts()
        start = max(1, int(since.timestamp()) - SLACK_IN_PAST)
        query: Query = [("job_name", name), ("start_time", f"uts{start}")]
        return await self._past(facts, past_query(facts.shape, query))

    async def _past(self, facts: Facts, query: Query) -> list[Record]:
        answer = await self._rest.get(facts.shape.past_path("jobs"), query, large=True)
        if NOTHING_FOUND in answer.codes:
            return []
        if answer.status >= 400 or answer.envelope.errors:
            raise Unavailable(f"{self._rest.where} cannot tell the history of jobs: {answer.words}")
        return [from_past(job) for job in answer.read(PastJobs).jobs]

    def _records(self, answer: Answer, of: Container[str] | None = None) -> list[Record]:
        if answer.status >= 400 or answer.envelope.errors:
            # Some of the list beside an error is not the whole list.
            raise Unavailable(f"{self._rest.where} could not list the jobs: {answer.words}")
        if _says_unchanged(answer):
            raise Unavailable(f"{self._rest.where} says that no job changed, though nobody asked that")
        jobs = answer.read(LiveJobs).jobs
        return [from_live(job) for job in jobs if of is None or str(integer(job.array_job_id) or job.job_id) in of]

    async def _time_at(self, began: float) -> int:
        """
        Return slurmctld's time at our *began*, rounded down.

        v0.0.38 does not tell of which time its list is. A time that is too early costs
        one more list, one that is too late would hide a change.
        """
        if self._ahead is None or self._clock.monotonic() - self._measured > CLOCK_HOLDS:
            facts = await self.facts()
            try:
                diagnosis = (await self._rest.get(facts.shape.path("diag"))).read(Diagnosis)
            except Refused:
                return 0
            told = integer(diagnosis.statistics.req_time) if diagnosis.statistics else None
            if told is None:
                return 0
            # It was told some time before it was read: this is the least it may be ahead.
            self._measured = self._clock.monotonic()
            self._ahead = told - self._measured
        return int(began + self._ahead) - 1


def _says_unchanged(answer: Answer) -> bool:
    return any("no job changes" in (warning.description or "").lower() for warning in answer.envelope.warnings)
