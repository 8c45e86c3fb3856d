"""
What became of jobs that slurmctld no longer has: accounting, then the wrapper's marker.

Three answers are kept apart: an end that is on record, proof that there is no such job,
and that nobody can tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from bascule.managers.slurm.answers import gone_from_past, is_array, is_of, latest, report_on
from bascule.managers.slurm.arrays import array_report
from bascule.managers.slurm.cluster import Cluster
from bascule.managers.slurm.marker import has_begun, marker_of, never_began, report_from
from bascule.managers.slurm.note import note_from
from bascule.managers.slurm.records import Record
from bascule.managers.slurm.states import verdict_of
from bascule.model import Absent, Answer, CannotTell, Handle, Report, Source

NO_HISTORY = "slurmctld no longer has it, and this cluster's REST API has no accounting"


class History:
    """The memory of one cluster."""

    def __init__(self, cluster: Cluster, root: str | None, *, min_job_age: float) -> None:
        self._cluster = cluster
        self._root = root
        self._min_job_age = min_job_age

    async def answers(self, handles: Sequence[tuple[Handle, list[Record]]], now: datetime) -> dict[str, Answer]:
        """Return what is known of *handles*, each with what is known of it already (tasks of an array)."""
        facts = await self._cluster.facts()
        rows: list[Record] = []
        asked: set[str] = set()
        if facts.accounting:
            rows, asked = await self._cluster.past(handle.id for handle, _ in handles)
        answers: dict[str, Answer] = {}
        for handle, known in handles:
            if facts.accounting and handle.id not in asked:
                continue  # its turn comes: what is not covered is no news
            ours = [row for row in rows if is_of(row, handle)]
            answers[handle.id] = await self._answer(handle, known, ours, now, accounting=facts.accounting)
        return answers

    async def _answer(
        self, handle: Handle, known: list[Record], rows: list[Record], now: datetime, *, accounting: bool
    ) -> Answer:
        if is_array(handle, [*known, *rows]):
            return await self._array(handle, known, rows, now, accounting=accounting)
        if rows:
            verdict = verdict_of(latest(rows))
            if verdict.phase is not None and verdict.phase.is_final and verdict.settled:
                return report_on(handle, rows, now)
        marked = await self.marked(handle)
        if marked is not None:
            return marked
        if not accounting:
            return (
                Absent("slurmctld does not have it, and it never began to run", now)
                if (await self._never_began(handle))
                else CannotTell(NO_HISTORY)
            )
        gone = gone_from_past(rows, now)
        return gone if gone is not None else CannotTell(NO_HISTORY)

    async def marked(self, handle: Handle) -> Report | CannotTell | None:
        """Return what the wrapper noted; None where it noted nothing."""
        if self._root is None or not handle.key:
            return None
        marker = await asyncio.to_thread(marker_of, self._root, handle.key)
        if marker is None or (handle.id and str(marker.job) != handle.id):
            return None
        return report_from(marker) or CannotTell("it began to run, slurmctld no longer has it, and it left no result")

    async def _never_began(self, handle: Handle) -> bool:
        if self._root is None or not handle.key or not note_from(handle.place).marked:
            return False
        return await asyncio.to_thread(never_began, self._root, handle.key)

    async def _array(
        self, handle: Handle, known: list[Record], rows: list[Record], now: datetime, *, accounting: bool
    ) -> Answer:
        indices = note_from(handle.place).indices
        records = [*rows, *known]
        if not accounting:
            records += await self.marked_tasks(handle, known, indices)
        ends = [record for record in records if is_over(record)]
        live = [record for record in known if record.source is Source.LIVE and not is_over(record)]
        covered = {record.task for record in ends} | {index for record in ends for index in record.waiting}
        if live:
            return array_report([*ends, *live], indices, now, complete=False)
        if indices and set(indices) <= covered:
            return array_report(ends, indices, now)
        if accounting and ends:
            # A task that was cancelled before it started may have no row of its own.
            unended = [record for record in rows if not is_over(record) and record.started is not None]
            return (
                array_report(ends, indices, now)
                if not unended
                else CannotTell(f"slurmctld no longer has it, and slurmdbd has {len(unended)} tasks without an end")
            )
        if accounting:
            return gone_from_past(rows, now) or CannotTell(NO_HISTORY)
        if ends and await self._others_never_began(handle, records, now):
            return array_report(ends, indices, now)
        return CannotTell(NO_HISTORY)

    async def _others_never_began(self, handle: Handle, records: list[Record], now: datetime) -> bool:
        """Tell whether tasks of which slurmctld has no record were cancelled before they started: it keeps none of those."""
        submitted = min((record.submitted for record in records if record.submitted), default=None)
        if submitted is not None and now.timestamp() - submitted < self._min_job_age:
            return True  # nothing of this array can have been forgotten yet
        if self._root is None or not handle.key or not note_from(handle.place).marked:
            return False
        ended = {record.task for record in records}
        for index in note_from(handle.place).indices:
            if index not in ended and await asyncio.to_thread(marker_of, self._root, handle.key, index) is not None:
                return False
        return await asyncio.to_thread(has_begun, self._root, handle.key)

    async def marked_tasks(self, handle: Handle, known: list[Record], indices: Sequence[int]) -> list[Record]:
        """Return the ends that the wrapper noted of the tasks *indices*, apart from those that are *known*."""
        if self._root is None or not handle.key:
            return []
        have = {record.task for record in known}
        found = []
        for index in indices:
            if index in have:
                continue
            marker = await asyncio.to_thread(marker_of, self._root, handle.key, index)
            if marker is not None and marker.ended is not None:
                words = ("FAILED",) if marker.exit_code or marker.signal else ("COMPLETED",)
                found.append(
                    Record(
                        id=marker.job,
                        name=handle.key,
                        user="",
                        words=words,
                        exit_code=None if marker.signal else marker.exit_code,
                        signal=marker.signal or None,
                        started=marker.started,
                        ended=marker.ended,
                        array=int(handle.id),
                        task=index,
                        source=Source.MARKER,
                    )
                )
        return found


def is_over(record: Record) -> bool:
    """Tell whether *record* is of a run that has ended."""
    verdict = verdict_of(record)
    return verdict.phase is not None and verdict.phase.is_final and verdict.settled
