"""
Looking for a key: in slurmctld's list, in the history, in the shared folder.

An absence is told only where it is proven; whoever gets it may submit again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from bascule.managers.slurm.answers import gone_from_past, matches_in
from bascule.managers.slurm.cluster import Cluster
from bascule.managers.slurm.marker import marker_of, never_began, report_from
from bascule.managers.slurm.records import Record
from bascule.managers.slurm.states import verdict_of
from bascule.model import Absent, CannotTell, Found, Handle, Match, Stray, belongs_to
from bascule.ports import Clock


class Finder:
    """Looks for keys at one cluster. *held*: all submits there are held first."""

    def __init__(self, cluster: Cluster, clock: Clock, *, root: str | None, held: bool, min_job_age: float) -> None:
        self._cluster = cluster
        self._clock = clock
        self._root = root
        self._held = held
        self._min_job_age = min_job_age

    async def find(self, key: str, since: datetime, *, may_have_run: bool = False) -> Found | Absent | CannotTell:
        """Look for *key*; `Manager.find`."""
        now = self._clock.now()
        live = await self._ours(key)
        facts = await self._cluster.facts()
        if not facts.accounting:
            matches = matches_in(live, key, now)
            return (
                Found(tuple(matches))
                if matches
                else await self._unseen(key, since, now, held=self._held and not may_have_run)
            )
        past = await self._cluster.past_named(key, since)
        alive = {record.of for record in live}
        rows = [row for row in past if row.name == key and row.user == self._cluster.user and row.of not in alive]
        ended = {row.of for row in rows if (verdict := verdict_of(row)).phase and verdict.phase.is_final}
        matches = matches_in([*live, *(row for row in rows if row.of in ended)], key, now)
        if matches:
            return Found(tuple(matches))
        gone = gone_from_past([row for row in rows if row.of not in ended], now)
        if isinstance(gone, CannotTell):
            return gone
        evidence = "in slurmctld's list there is none, nor in slurmdbd's since " + f"{since:%Y-%m-%dT%H:%M:%SZ}"
        return Absent(evidence, now)

    async def sweep(self, installation: str) -> Sequence[Stray]:
        """List what bears our keys; `Manager.sweep`."""
        now = self._clock.now()
        records = [record for record in await self._cluster.live() if belongs_to(record.name, installation)]
        strays = []
        for key in dict.fromkeys(record.name for record in records):
            ours = [record for record in records if record.name == key and record.user == self._cluster.user]
            strays += [
                Stray(key, match.handle, match.held, over=match.report.is_over) for match in matches_in(ours, key, now)
            ]
        return strays

    async def _ours(self, key: str) -> list[Record]:
        return [
            record for record in await self._cluster.live() if record.name == key and record.user == self._cluster.user
        ]

    async def _unseen(self, key: str, since: datetime, now: datetime, *, held: bool) -> Found | Absent | CannotTell:
        """Say what it means that slurmctld's whole list has no such job, where nothing else remembers."""
        if self._root is not None:
            marker = await asyncio.to_thread(marker_of, self._root, key)
            if marker is not None:
                report = report_from(marker)
                if report is None:
                    return CannotTell("it began to run, slurmctld no longer has it, and it left no result")
                return Found((Match(Handle(str(marker.job), key), report),))
            if not await asyncio.to_thread(never_began, self._root, key):
                return CannotTell("it began to run, or the shared folder is not there")
            return Absent("slurmctld's list has no such job, and none ever began to run", now)
        if held:
            return Absent("slurmctld's list has no such job, and a held one cannot have ended unseen", now)
        if (now - since).total_seconds() < self._min_job_age:
            return Absent("slurmctld's list has no such job, and it cannot have forgotten it yet", now)
        return CannotTell("slurmctld may have forgotten it, and this cluster's REST API has no accounting")
