"""
What records say about a handle.

An id alone proves nothing: ids are reused. A record is a handle's only with its key as
name or in front of its comment, since a user may change either, and submitted no earlier;
of a requeued job the latest run counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bascule.managers.slurm.arrays import array_report
from bascule.managers.slurm.note import Note, key_in, note_from, note_of
from bascule.managers.slurm.records import Record
from bascule.managers.slurm.states import is_held_by_user, report_of, time_of
from bascule.model import Absent, CannotTell, Handle, Match, Report

SKEW = 2.0
"""Seconds by which a submit time may differ between slurmctld and slurmdbd."""


def is_of(record: Record, handle: Handle) -> bool:
    """Tell whether *record* is a run, or a task, of the job that *handle* names."""
    if str(record.of) != handle.id:
        return False
    if handle.key and handle.key not in {record.name, key_in(record.comment)}:
        return False
    since = handle.submitted_at
    return since is None or record.submitted is None or record.submitted + SKEW >= since.timestamp()


def latest(records: Iterable[Record]) -> Record:
    """Return the latest run."""
    return max(records, key=lambda record: (record.submitted or 0, record.restarts, record.started or 0))


def is_array(handle: Handle, records: Iterable[Record]) -> bool:
    """Tell whether *handle* is an array."""
    return bool(note_from(handle.place).array) or any(record.array for record in records)


def report_on(handle: Handle, records: list[Record], now: datetime, *, complete: bool = True) -> Report:
    """Return what *records*, all of them of *handle*, say; *complete*: a task without a record never ran."""
    if is_array(handle, records):
        return array_report(records, note_from(handle.place).indices, now, complete=complete)
    return report_of(latest(records), now)


def gone_from_past(rows: list[Record], now: datetime) -> Absent | CannotTell | None:
    """
    Return what rows without an end say of a job that slurmctld does not know; None where they say nothing.

    slurmctld tells slurmdbd of a start and an end. A row that never started, of a job that
    slurmctld lacks, is of one that it forgot when it was killed.
    """
    if not rows:
        return Absent("neither slurmctld nor slurmdbd has it", now)
    row = latest(rows)
    if "PENDING" in row.words and row.started is None:
        if row.submitted is not None and now.timestamp() - row.submitted < 60:
            return CannotTell("slurmdbd has it as pending and slurmctld does not have it; it may just be arriving")
        return Absent("slurmctld has forgotten it, and slurmdbd never saw it start", now)
    return CannotTell(f"slurmctld no longer has it, and slurmdbd has it as {'+'.join(row.words)} without an end")


def matches_in(records: Iterable[Record], key: str, now: datetime) -> list[Match]:
    """Return the jobs that *records* show, one for each submit, oldest first."""
    jobs: dict[int, list[Record]] = {}
    for record in records:
        jobs.setdefault(record.of, []).append(record)
    matches = []
    for number, runs in jobs.items():
        first = min(runs, key=lambda record: record.submitted or 0)
        handle = Handle(
            id=str(number),
            key=key,
            submitted_at=time_of(first.submitted),
            place=_note(runs).written(),
        )
        # One that ran and was requeued is held by somebody else: our own hold is lifted before a job runs.
        held = all(is_held_by_user(record) and not record.restarts for record in runs)
        matches.append(Match(handle, report_on(handle, runs, now), held))
    return sorted(
        matches,
        key=lambda match: (match.report.submitted_at is not None, match.report.submitted_at, int(match.handle.id)),
    )


def _note(records: list[Record]) -> Note:
    return note_of(latest(records))
