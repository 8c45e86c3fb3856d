"""
Jobs that slurmctld has taken up again from before they ran, or from before they ended.

It saves its state some seconds after a change. Killed in between, it comes back with a job
held that it had released and started. How that run ended is with slurmdbd or in the
wrapper's marker; one that goes on is ended by its node, as soon as that registers. Such a
job must not be released again, and what is held of it is a ghost. In the same way a job
that has ended can be said to run, for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from bascule.errors import Unavailable
from bascule.managers.slurm.answers import is_array, is_of, latest
from bascule.managers.slurm.arrays import array_report
from bascule.managers.slurm.cluster import Cluster
from bascule.managers.slurm.history import History, is_over
from bascule.managers.slurm.marker import marker_of, report_from
from bascule.managers.slurm.note import note_from
from bascule.managers.slurm.records import Record
from bascule.managers.slurm.states import is_held, report_of
from bascule.model import Absent, Answer, CannotTell, Handle, Report, Source
from bascule.ports import Clock

LOOK_AGAIN = 60.0
"""Seconds for which a held job is believed not to have run."""
BELIEVED = 600.0
"""Seconds for which a job that slurmctld says to run is believed to."""
REMEMBERED = 7200.0
"""Seconds for which it is remembered since when a job was in doubt: several whole looks at one that does not move."""
FEW = 2
"""How many jobs are looked up in each poll where slurmdbd takes one id at a time."""
BEGAN = "it began to run, and slurmctld came back from before that: its node ends such a run"
GONE = (
    "slurmctld came back from before it ran and holds it again, its node has ended the run, and nothing noted its end"
)


def could_be_rewound(records: Sequence[Record]) -> bool:
    """Tell whether *records* are of a job that is held and, for all that slurmctld knows, has not run."""
    return all(record.words == ("PENDING",) and is_held(record) for record in records)


class Rewinds:
    """Looks behind the holds of one cluster."""

    def __init__(self, cluster: Cluster, history: History, clock: Clock, *, root: str | None, settles: float) -> None:
        self._cluster = cluster
        self._history = history
        self._clock = clock
        self._root = root
        self._settles = settles
        self._cleared: dict[Handle, float] = {}
        self._since: dict[Handle, float] = {}

    def may_be_over(self, records: Sequence[Record], now: datetime) -> bool:
        """Tell whether *records* are of a job that is said to run, and long enough for its end to be known elsewhere."""
        if len(records) != 1 or records[0].words != ("RUNNING",) or records[0].array:
            return False
        return records[0].started is not None and now.timestamp() - records[0].started >= self._settles

    async def answers(self, doubtful: Sequence[tuple[Handle, list[Record]]], now: datetime) -> dict[str, Answer]:
        """
        Return what became of those of *doubtful*, each with its live records, that slurmctld is wrong about.

        They are held and have run all the same, or are said to run and have ended.
        """
        asked = await self._due(doubtful)
        rows: list[Record] | None = None
        try:
            rows = await self._rows([handle for handle, _ in asked])
        except Unavailable:
            # A hold needs no history to be seen; only what is known to have run must not be taken for one.
            asked = [(one, records) for one, records in asked if one in self._since and could_be_rewound(records)]
        answers: dict[str, Answer] = {}
        for handle, records in asked:
            said = await self._run_of(handle, records, rows or [], now) if rows is not None else CannotTell(BEGAN)
            if said is None or (isinstance(said, CannotTell) and not could_be_rewound(records)):
                self._cleared[handle] = self._clock.monotonic()
                self._since.pop(handle, None)
                continue
            since = self._since.setdefault(handle, self._clock.monotonic())
            has_settled = self._clock.monotonic() - since >= self._settles
            if not could_be_rewound(records) and not has_settled and _is_marked(said):
                continue
            is_gone = isinstance(said, CannotTell) and has_settled
            answers[handle.id] = Absent(GONE, now) if is_gone and rows is not None else said
        return answers

    async def has_run(self, handle: Handle, records: list[Record], now: datetime) -> bool:
        """Tell whether *handle*, of which slurmctld has *records*, has begun to run before."""
        if not records or not could_be_rewound(records):
            return False
        return await self._run_of(handle, records, await self._rows([handle]), now) is not None

    def forget(self, handle: Handle) -> None:
        """Look anew: something was just asked for it."""
        self._cleared.pop(handle, None)

    async def _due(self, doubtful: Sequence[tuple[Handle, list[Record]]]) -> list[tuple[Handle, list[Record]]]:
        now = self._clock.monotonic()
        self._since = {handle: at for handle, at in self._since.items() if at > now - REMEMBERED}
        self._cleared = {handle: at for handle, at in self._cleared.items() if at > now - BELIEVED}
        held = [(each, now - LOOK_AGAIN) for each in doubtful if could_be_rewound(each[1])]
        running = [(each, now - BELIEVED) for each in doubtful if not could_be_rewound(each[1])]
        due = [each for each, stale in (*held, *running) if self._cleared.get(each[0], stale) <= stale]
        facts = await self._cluster.facts()
        return due if facts.shape.ids_repeat or not facts.accounting else due[:FEW]

    async def _rows(self, handles: Sequence[Handle]) -> list[Record]:
        facts = await self._cluster.facts()
        if not facts.accounting or not handles:
            return []
        rows, _ = await self._cluster.past(handle.id for handle in handles)
        return rows

    async def _run_of(
        self, handle: Handle, records: list[Record], rows: list[Record], now: datetime
    ) -> Report | CannotTell | None:
        """Return the end of the run, that it has none yet, or None where there was no run."""
        record = latest(records)
        told = [row for row in rows if is_of(row, handle) and _is_same_run(row, record)]
        if is_array(handle, records):
            return await self._tasks_of(handle, record, told, now)
        ends = [row for row in told if is_over(row)]
        if ends:
            return report_of(latest(ends), now)
        if self._root is not None and handle.key:
            marker = await asyncio.to_thread(marker_of, self._root, handle.key)
            if marker is not None and (marker.job, marker.restarts) == (record.id, record.restarts):
                return report_from(marker) or CannotTell(BEGAN)
        return CannotTell(BEGAN) if told else None

    async def _tasks_of(
        self, handle: Handle, record: Record, told: list[Record], now: datetime
    ) -> Report | CannotTell | None:
        """Return the same for an array: a run is one of a task that slurmctld has as waiting."""
        indices = note_from(handle.place).indices
        waiting = set(record.waiting)
        began = any(row.task in waiting for row in told)
        if self._root is not None and handle.key and not began:
            began = await asyncio.to_thread(_has_any_begun, self._root, handle.key, waiting)
        if not began:
            return None
        ends = [row for row in told if row.task is not None and is_over(row)]
        ends += await self._history.marked_tasks(handle, ends, indices)
        if indices and set(indices) <= {end.task for end in ends}:
            return array_report(ends, indices, now)
        return CannotTell(BEGAN)


def _is_same_run(row: Record, record: Record) -> bool:
    """Tell whether a row of the history is of the run that slurmctld holds: a requeue would have made another."""
    ran = "PENDING" not in row.words
    return ran and (row.submitted, row.restarts) == (record.submitted, record.restarts)


def _is_marked(said: Answer) -> bool:
    """Tell whether an end is known from its wrapper alone, which is a moment ahead of Slurm, and knows less."""
    return isinstance(said, Report) and said.source is Source.MARKER


def _has_any_begun(root: str, key: str, tasks: set[int]) -> bool:
    return any(marker_of(root, key, task) is not None for task in tasks)
