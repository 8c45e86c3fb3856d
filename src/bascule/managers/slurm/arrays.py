"""How an array stands, from what Slurm says of its tasks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from bascule.managers.slurm.records import Record
from bascule.managers.slurm.states import report_of
from bascule.model import Phase, Report, Source, Tasks, text_of_indices

MOST_NODES = 64


def array_report(records: Sequence[Record], indices: Sequence[int], now: datetime, *, complete: bool = True) -> Report:
    """
    Return what *records* say of the array of *indices*.

    Live records count before past ones. A task without a record is one that was cancelled
    before it started: slurmctld keeps none of those. Unless the records are not *complete*:
    then nothing is said to be over.
    """
    tasks, waiting = _tasks(records)
    reports = {index: report_of(record, now) for index, record in tasks.items()}
    queue = [report_of(record, now) for record in waiting]
    queued = {index for record in waiting for index in record.waiting if index not in tasks}
    finals = {index: report for index, report in reports.items() if report.is_over}
    never = set(indices) - set(tasks) - queued
    over = [record for record in waiting if report_of(record, now).is_over]
    dropped = {index for record in over for index in record.waiting if index not in tasks}
    queued -= dropped
    running = {index for index, report in reports.items() if report.phase is Phase.RUNNING}
    failed = {index for index, report in finals.items() if report.phase is Phase.FAILED}
    succeeded = {index for index, report in finals.items() if report.phase is Phase.SUCCEEDED}
    cancelled = {index for index, report in finals.items() if report.phase is Phase.CANCELLED} | dropped
    alive = [report for index, report in reports.items() if index not in finals]
    alive += [report for report in queue if not report.is_over]
    if not alive:
        cancelled |= never
    known = set(indices) | set(tasks) | queued | dropped
    counted = Tasks(
        total=len(known),
        succeeded=len(succeeded),
        failed=len(failed),
        cancelled=len(cancelled),
        running=len(running),
        failed_indices=text_of_indices(failed),
        indices=text_of_indices(known),
    )
    if alive or (never and not complete):
        return _living(alive, finals, counted, running)
    return _over(finals, counted, failed)


def _tasks(records: Iterable[Record]) -> tuple[dict[int, Record], list[Record]]:
    """Return the tasks by index, the live and the latest run of each, and the records of those that wait together."""
    tasks: dict[int, Record] = {}
    waiting = []
    for record in sorted(records, key=lambda each: (each.source is Source.LIVE, each.submitted or 0, each.restarts)):
        if record.task is not None:
            tasks[record.task] = record
        elif record.waiting:
            waiting.append(record)
    if any(record.source is Source.LIVE for record in waiting):
        waiting = [record for record in waiting if record.source is Source.LIVE]
    return tasks, waiting


def _living(alive: list[Report], finals: dict[int, Report], counted: Tasks, running: set[int]) -> Report:
    if any(report.phase is None for report in alive):
        odd = next(report for report in alive if report.phase is None)
        return Report(None, state=odd.state, explanation=odd.explanation, tasks=counted)
    unsettled = any(report.phase is not None and report.phase.is_final for report in alive)
    if running or finals or unsettled or not alive:
        phase = Phase.RUNNING
    elif any(report.phase is Phase.QUEUED for report in alive):
        phase = Phase.QUEUED
    else:
        phase = Phase.HELD
    waits = next((report for report in alive if report.phase in {Phase.QUEUED, Phase.HELD}), None)
    why = waits.why if waits is not None and not running else ""
    nodes = tuple(dict.fromkeys(node for report in alive for node in report.nodes))[:MOST_NODES]
    starts = [report.started_at for report in (*alive, *finals.values()) if report.started_at is not None]
    return Report(
        phase=phase,
        state=_words(alive),
        why=why,
        explanation=counted.summary if phase is Phase.RUNNING else (waits.explanation if waits else ""),
        nodes=nodes,
        restarts=max((report.restarts for report in alive), default=0),
        submitted_at=min((report.submitted_at for report in alive if report.submitted_at), default=None),
        started_at=min(starts, default=None) if phase is Phase.RUNNING else None,
        expected_start=waits.expected_start if waits is not None and phase is not Phase.RUNNING else None,
        tasks=counted,
    )


def _over(finals: dict[int, Report], counted: Tasks, failed: set[int]) -> Report:
    first = finals[min(failed)] if failed else None
    if first is not None:
        phase, reason = Phase.FAILED, first.reason
    elif counted.cancelled:
        phase, reason = Phase.CANCELLED, ""
    else:
        phase, reason = Phase.SUCCEEDED, ""
    ends = [report for report in finals.values() if report.finished_at is not None]
    sources = {report.source for report in finals.values()}
    return Report(
        phase=phase,
        state=_words(list(finals.values())) or "CANCELLED",
        reason=reason,
        explanation=f"{counted.summary}; task {min(failed)}: {first.explanation}" if first else counted.summary,
        exit_code=first.exit_code if first is not None else (0 if phase is Phase.SUCCEEDED else None),
        signal=first.signal if first is not None else None,
        submitted_at=min((report.submitted_at for report in ends if report.submitted_at), default=None),
        started_at=min((report.started_at for report in ends if report.started_at), default=None),
        finished_at=max((report.finished_at for report in ends if report.finished_at), default=None),
        source=Source.LIVE if Source.LIVE in sources or not sources else sources.pop(),
        tasks=counted,
    )


def _words(reports: list[Report]) -> str:
    """Slurm's words, the most frequent first."""
    return ",".join(word for word, _ in Counter(report.state for report in reports).most_common(3))
