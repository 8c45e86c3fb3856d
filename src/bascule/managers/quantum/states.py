"""
What the service's words mean.

Case differs between versions of the API. A cancellation because a job ran too long is told as
a number, and by older versions in the word itself.
"""

from __future__ import annotations

from bascule.managers.quantum.wire import JobRecord, Metrics, moment
from bascule.model import Phase, Reason, Report

RAN_TOO_LONG = 1305
PROGRAM_FAILED = "ProgramFailed"
_PHASES = {
    "queued": Phase.QUEUED,
    "pending": Phase.QUEUED,
    "running": Phase.RUNNING,
    "completed": Phase.SUCCEEDED,
    "done": Phase.SUCCEEDED,
    "failed": Phase.FAILED,
    "error": Phase.FAILED,
    "cancelled": Phase.CANCELLED,
}


def phase_of(record: JobRecord) -> Phase | None:
    """Return what a job's state means; None where the word is not known here."""
    if ran_too_long(record):
        return Phase.FAILED
    return _PHASES.get(record.word.lower())


def ran_too_long(record: JobRecord) -> bool:
    """Tell whether the service ended a job for its maximum execution time."""
    words = f"{record.word} {record.status or ''}".lower()
    return "cancelled" in words and (record.code == RAN_TOO_LONG or "ran too long" in words)


def report_of(record: JobRecord, metrics: Metrics | None, *, settled: bool = True, where: str = "") -> Report:
    """Return what *record* says; *where* is a sentence on where its results are."""
    phase = phase_of(record)
    times = metrics.timestamps if metrics else None
    state = record.state
    why = (state.reason or "") if state else ""
    return Report(
        phase,
        state=record.word,
        reason=_reason(record, phase),
        why=" ".join(why.split())[:500],
        explanation=_sentence(record, phase, metrics, where),
        exit_code=0 if phase is Phase.SUCCEEDED else None,
        nodes=(record.backend,) if record.backend else (),
        submitted_at=moment(record.created),
        started_at=None if phase is Phase.QUEUED else moment(times.running if times else None),
        finished_at=moment((times.finished if times else None) or record.ended) if phase and phase.is_final else None,
        expected_start=moment(metrics.estimated_start_time) if metrics and phase is Phase.QUEUED else None,
        settled=settled,
    )


def _reason(record: JobRecord, phase: Phase | None) -> str:
    if ran_too_long(record):
        return Reason.TIMED_OUT
    return PROGRAM_FAILED if phase is Phase.FAILED else ""


def _sentence(record: JobRecord, phase: Phase | None, metrics: Metrics | None, where: str) -> str:
    at = f" `{record.backend}`" if record.backend else " the service"
    why = " ".join(((record.state.reason or "") if record.state else "").split())[:500]
    code = f" (code {record.code})" if record.code is not None else ""
    advice = record.state.reason_solution if record.state else None
    match phase:
        case Phase.QUEUED:
            place = metrics.position_in_queue if metrics else None
            return f"waits for{at}" + (f", at place {place} of its queue" if place else "")
        case Phase.RUNNING:
            return f"runs on{at}"
        case Phase.SUCCEEDED:
            return f"computed{_seconds(record, metrics)} on{at}" + (f"; {where}" if where else "")
        case Phase.FAILED if ran_too_long(record):
            return why or "ran for longer than its maximum execution time"
        case Phase.FAILED:
            return f"{why or 'the program failed'}{code}" + (f"; {' '.join(advice.split())[:300]}" if advice else "")
        case Phase.CANCELLED:
            return why or "cancelled at the service"
    return record.word


def _seconds(record: JobRecord, metrics: Metrics | None) -> str:
    usage = (metrics.usage if metrics else None) or record.usage
    seconds = None if usage is None else usage.quantum_seconds if usage.quantum_seconds is not None else usage.seconds
    return "" if seconds is None else f" for {seconds:g} s"
