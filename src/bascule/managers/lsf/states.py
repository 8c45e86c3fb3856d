"""
What LSF's words mean: states and ends as phases and reasons.

Short words (``PEND``) and long ones (``Pending``) both occur. A word that is in no table
has no phase, so that next year's release ends nobody's job.
"""

from __future__ import annotations

import signal as signals
from datetime import datetime
from typing import NamedTuple

from bascule.managers.lsf.ends import End
from bascule.managers.lsf.reasons import ENDINGS, Ending
from bascule.managers.lsf.records import Record
from bascule.model import Phase, Reason, Report

WAITS, RUNS, HELD, SUSPENDED, DONE, EXIT, ZOMBIE = "waits", "runs", "held", "suspended", "done", "exit", "zombie"
WORDS: dict[str, str] = {
    "PEND": WAITS,
    "PENDING": WAITS,
    "WAIT": WAITS,
    "WAITING": WAITS,
    "PROV": WAITS,
    "PROVISION": WAITS,
    "FWD_PEND": WAITS,
    "PSUSP": HELD,
    "RUN": RUNS,
    "RUNNING": RUNS,
    "USUSP": SUSPENDED,
    "SSUSP": SUSPENDED,
    "SUSPENDED": SUSPENDED,
    "SUSPEND": SUSPENDED,
    "DONE": DONE,
    "PDONE": DONE,
    "POST_DONE": DONE,
    "EXIT": EXIT,
    "EXITED": EXIT,
    "ZOMBI": ZOMBIE,
    "ZOMBIE": ZOMBIE,
}
UNKNOWN_TO_LSF = frozenset({"UNKWN", "UNKNOWN"})
"""LSF cannot reach the host: the job may well run on."""


class Verdict(NamedTuple):
    """How a job ended."""

    phase: Phase
    reason: str
    sentence: str
    exit_code: int | None = None
    signal: int | None = None


def kind_of(record: Record) -> str:
    """Return what the state word of *record* means; empty where nobody knows it."""
    word = record.status.strip().upper().replace(" ", "_")
    kind = WORDS.get(word, "")
    # The long word is one for three: what never started is held, and not suspended.
    return HELD if word in {"SUSPENDED", "SUSPEND"} and record.started is None else kind


def is_over(record: Record) -> bool:
    """Tell whether the job has ended."""
    return kind_of(record) in {DONE, EXIT, ZOMBIE}


def report_of(record: Record, end: End, *, limit: int | None = None) -> Report:
    """
    Put what *record* says into words that the core knows.

    *end* is what the job's own folder and LSF's history say of its end; *limit* the
    walltime in seconds.
    """
    kind = kind_of(record)
    if kind in {DONE, EXIT, ZOMBIE}:
        return _over(record, end, kind, limit)
    waits = kind in {WAITS, HELD}
    phase, reason, sentence = _living(record, kind)
    return Report(
        phase=phase,
        state=record.status,
        reason=reason,
        why=record.pending,
        explanation=sentence,
        nodes=() if waits else record.hosts[:64],
        submitted_at=record.submitted,
        started_at=None if waits else record.started or end.started,
        source=record.source,
    )


def _living(record: Record, kind: str) -> tuple[Phase | None, str, str]:
    where = f" on {', '.join(record.hosts[:8])}" if record.hosts else ""
    why = f": {record.pending}" if record.pending else ""
    match kind:
        case "waits":
            return Phase.QUEUED, "", f"waits{why}" if why else "waits in the queue"
        case "held":
            return Phase.HELD, "", f"held{why}" if why else "held before its start"
        case "runs":
            return Phase.RUNNING, "", f"running{where}"
        case "suspended":
            return Phase.HELD, str(Reason.SUSPENDED), f"suspended{where}{why}"
    if record.status.upper() in UNKNOWN_TO_LSF:
        return None, "", "LSF cannot reach the job's host, and does not know how it is"
    return None, "", f"LSF says `{record.status}`, which is not known here"


def _over(record: Record, end: End, kind: str, limit: int | None) -> Report:
    started, ended = record.started or end.started, record.ended or end.ended
    verdict = _verdict(record, end, kind, _ran_for(started, ended), limit)
    return Report(
        phase=verdict.phase,
        state=record.status,
        reason=verdict.reason,
        why=end.term or record.term,
        explanation=verdict.sentence,
        exit_code=verdict.exit_code,
        signal=verdict.signal,
        nodes=record.hosts[:64],
        submitted_at=record.submitted,
        started_at=started,
        finished_at=ended,
        source=record.source,
    )


def _ran_for(started: datetime | None, ended: datetime | None) -> float | None:
    return (ended - started).total_seconds() if started is not None and ended is not None else None


def _verdict(record: Record, end: End, kind: str, ran: float | None, limit: int | None) -> Verdict:
    if kind == DONE:
        return Verdict(Phase.SUCCEEDED, "", "completed", 0)
    if kind == ZOMBIE:
        return Verdict(Phase.FAILED, str(Reason.NODE_FAILED), "its host is gone, and LSF has given it up")
    code, signal = (end.exit_code, end.signal) if end.exit_code is not None else status_of(record.exit_status)
    ending = ENDINGS.get(end.term or record.term)
    if ending is not None:
        return _ended(ending, code, signal)
    if end.failed:
        return Verdict(Phase.FAILED, str(Reason.START_FAILED), end.failed)
    left_by_itself = end.exit_code is not None and end.signal is None and end.exit_code <= 128
    if end.was_asked and not left_by_itself:
        return Verdict(Phase.CANCELLED, "", "cancelled", None, signal)
    if _never_started(record, end):
        # What waited has no end but one that somebody gave it.
        return Verdict(Phase.CANCELLED, "", "cancelled before it started")
    if signal is not None:
        if limit is not None and ran is not None and ran >= limit:
            return Verdict(Phase.FAILED, str(Reason.TIMED_OUT), "reached its walltime", None, signal)
        return Verdict(Phase.FAILED, str(Reason.SIGNAL), f"was ended by signal {signal}", None, signal)
    if code == 127 and end.exit_code is None and end.started is None:
        return Verdict(
            Phase.FAILED, str(Reason.START_FAILED), "could not be started: its folder did not have its script"
        )
    said = f"ended with exit code {code}" if code is not None else "failed"
    return Verdict(Phase.FAILED, str(Reason.EXIT_CODE), said, code)


def _never_started(record: Record, end: End) -> bool:
    if record.started is not None or end.started is not None or end.exit_code is not None:
        return False
    return not record.ran if record.ran is not None else end.looked


def _ended(ending: Ending, code: int | None, signal: int | None) -> Verdict:
    if ending.reason == Reason.SIGNAL and signal is None:
        return Verdict(ending.phase, str(Reason.EXIT_CODE), ending.sentence, code)
    return Verdict(ending.phase, ending.reason, ending.sentence, code if signal is None else None, signal)


def status_of(status: int | None) -> tuple[int | None, int | None]:
    """
    Return exit code and signal in LSF's number.

    Above 255 it is as ``wait`` gives it; below, an exit code, in which 128 and more stand
    for a signal, as in a shell. Only the job's own folder can tell `exit 137` from a kill.
    """
    if status is None or status < 0:
        return None, None
    if status > 255:
        code, killed = status >> 8 & 0xFF, status & 0x7F
        if killed:
            return None, killed
        status = code
    if status > 128 and status - 128 in set(signals.Signals):
        return None, status - 128
    return status, None
