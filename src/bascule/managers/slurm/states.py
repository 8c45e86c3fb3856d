"""
What Slurm's words mean: states and flags to phases and reasons.

Slurm gives a base state (``FAILED``) and flags (``COMPLETING``); old versions give one
word, of either kind. A word that is in no table has no phase, so that next year's
release ends nobody's job.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from bascule.managers.slurm.nodes import expanded
from bascule.managers.slurm.reasons import sentence
from bascule.managers.slurm.records import Record
from bascule.model import Phase, Reason, Report

BASE: dict[str, tuple[Phase, str]] = {
    "PENDING": (Phase.QUEUED, ""),
    "RUNNING": (Phase.RUNNING, ""),
    "SUSPENDED": (Phase.HELD, Reason.SUSPENDED),
    "COMPLETED": (Phase.SUCCEEDED, ""),
    "FAILED": (Phase.FAILED, Reason.EXIT_CODE),
    "CANCELLED": (Phase.CANCELLED, ""),
    "TIMEOUT": (Phase.FAILED, Reason.TIMED_OUT),
    "DEADLINE": (Phase.FAILED, Reason.TIMED_OUT),
    "OUT_OF_MEMORY": (Phase.FAILED, Reason.OUT_OF_MEMORY),
    "NODE_FAIL": (Phase.FAILED, Reason.NODE_FAILED),
    "BOOT_FAIL": (Phase.FAILED, Reason.NODE_FAILED),
    "PREEMPTED": (Phase.FAILED, Reason.PREEMPTED),
}

WAITS_AGAIN = frozenset({"REQUEUED", "REQUEUE_FED", "EXPEDITING"})
HELD_AGAIN = frozenset({"REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"})
PREPARES = frozenset({"CONFIGURING", "POWER_UP_NODE"})
UNSETTLED = frozenset({"COMPLETING", "STAGE_OUT"})
ALONE: dict[str, tuple[Phase, str]] = {
    # Flags as the only word: what they say where the base state is not told.
    "STOPPED": (Phase.HELD, Reason.SUSPENDED),
    "LAUNCH_FAILED": (Phase.FAILED, Reason.START_FAILED),
    "RECONFIG_FAIL": (Phase.FAILED, Reason.NODE_FAILED),
    "REVOKED": (Phase.CANCELLED, ""),
    "RESIZING": (Phase.RUNNING, ""),
    "SIGNALING": (Phase.RUNNING, ""),
    "COMPLETING": (Phase.RUNNING, ""),
    "STAGE_OUT": (Phase.RUNNING, ""),
}
FLAGS = WAITS_AGAIN | HELD_AGAIN | PREPARES | UNSETTLED | ALONE.keys()
HELD_REASONS = frozenset({"JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue"})
COULD_NOT_START = 53
"""The signal by which slurmstepd says that it could not open the job's files."""
START_FAILURES = frozenset({"JobLaunchFailure", "SystemFailure", "BadConstraints"})


class Verdict(NamedTuple):
    """What some words say of a job."""

    phase: Phase | None
    reason: str = ""
    settled: bool = True


def verdict_of(record: Record) -> Verdict:
    """Return what *record* says of its job; no phase where a word is unknown."""
    said = set(record.words)
    if not said or not said <= BASE.keys() | FLAGS:
        return Verdict(None)
    if said & HELD_AGAIN:
        return Verdict(Phase.HELD, "")
    if said & WAITS_AGAIN:
        return Verdict(Phase.QUEUED, "")
    if said & PREPARES:
        return Verdict(Phase.QUEUED, "")
    base = next((word for word in record.words if word in BASE), "")
    if "STOPPED" in said and base in {"", "RUNNING"}:
        return Verdict(*ALONE["STOPPED"])
    if base == "PENDING" and is_held(record):
        return Verdict(Phase.HELD, "")
    if base in {"", "FAILED"} and (failures := said & {"LAUNCH_FAILED", "RECONFIG_FAIL"}):
        return Verdict(*ALONE[failures.pop()], settled=not said & UNSETTLED)
    phase, reason = BASE[base] if base else ALONE[next(word for word in record.words if word in ALONE)]
    if base == "FAILED":
        reason = _failure(record)
    if base == "PENDING" and said & UNSETTLED:
        return Verdict(Phase.QUEUED, "")
    return Verdict(phase, reason, settled=not (phase.is_final and said & UNSETTLED))


def is_held(record: Record) -> bool:
    """Tell whether a waiting job is kept from starting, by whomever."""
    return record.hold or record.reason in HELD_REASONS


def is_held_by_user(record: Record) -> bool:
    """Tell whether a waiting job is held as our own submits are."""
    return "PENDING" in record.words and record.reason != "JobHeldAdmin" and is_held(record)


def report_of(record: Record, now: datetime) -> Report:
    """Put what *record* says into words that the core knows."""
    verdict = verdict_of(record)
    final = verdict.phase is not None and verdict.phase.is_final
    waits = verdict.phase in {Phase.QUEUED, Phase.HELD} and "SUSPENDED" not in record.words
    started = time_of(record.started)
    return Report(
        phase=verdict.phase,
        state="+".join(record.words),
        reason=verdict.reason,
        why=record.reason,
        explanation=_explanation(record, verdict),
        exit_code=_shown_code(record, verdict) if final else None,
        # Slurm's own mark of a job that it could not start is no signal that anything got.
        signal=record.signal if final and verdict.reason != Reason.START_FAILED else None,
        nodes=() if waits else expanded(record.nodes),
        restarts=record.restarts,
        submitted_at=time_of(record.submitted),
        started_at=None if waits else started,
        finished_at=time_of(record.ended) if final else None,
        expected_start=started if waits and started and started > now else None,
        settled=verdict.settled,
        source=record.source,
    )


def time_of(seconds: int | None) -> datetime | None:
    """Return Slurm's seconds as a time."""
    return datetime.fromtimestamp(seconds, UTC) if seconds and 0 < seconds < 1 << 40 else None


def _shown_code(record: Record, verdict: Verdict) -> int | None:
    # A job that never started, or was ended from outside, has a zero that is not its own.
    if verdict.phase is not Phase.SUCCEEDED and not record.exit_code:
        return None
    return record.exit_code


def _failure(record: Record) -> str:
    if record.signal == COULD_NOT_START:
        return Reason.START_FAILED
    if record.signal:
        return Reason.SIGNAL  # before the reason: 22.05 says JobLaunchFailure of a job that a signal ended
    if record.exit_code:
        return Reason.EXIT_CODE
    return Reason.START_FAILED if record.reason in START_FAILURES else Reason.EXIT_CODE


def _explanation(record: Record, verdict: Verdict) -> str:
    state = "+".join(record.words)
    match verdict.phase:
        case None:
            return f"Slurm says `{state}`, which is not known here"
        case Phase.QUEUED if set(record.words) & PREPARES:
            return f"starting: its nodes are being prepared ({record.nodes})" if record.nodes else "starting"
        case Phase.QUEUED if set(record.words) & WAITS_AGAIN:
            return "requeued: waits to run again"
        case Phase.HELD if verdict.reason == Reason.SUSPENDED:
            return f"suspended on {record.nodes}" if record.nodes else "suspended"
        case Phase.QUEUED | Phase.HELD:
            return sentence(record.reason)
        case Phase.RUNNING:
            return f"running on {record.nodes}" if record.nodes else "running"
        case Phase.SUCCEEDED:
            return "completed" if verdict.settled else "completing"
        case Phase.CANCELLED:
            return f"cancelled by `{record.killed_by}`" if record.killed_by else "cancelled"
        case _:
            return _failure_in_words(record, verdict)


def _failure_in_words(record: Record, verdict: Verdict) -> str:
    match verdict.reason:
        case Reason.EXIT_CODE if record.exit_code:
            return f"ended with exit code {record.exit_code}"
        case Reason.SIGNAL:
            return f"was ended by signal {record.signal}"
        case Reason.TIMED_OUT:
            return "missed its deadline" if "DEADLINE" in record.words else "reached its walltime"
        case Reason.OUT_OF_MEMORY:
            return "used more memory than it asked for"
        case Reason.NODE_FAILED:
            node = record.failed_node or record.nodes
            return f"a node failed ({node})" if node else "a node failed"
        case Reason.PREEMPTED:
            return "was preempted by a job of higher priority"
        case Reason.START_FAILED if record.signal == COULD_NOT_START:
            return "could not be started: is the folder of its output there, and may its user write to it?"
        case Reason.START_FAILED:
            return f"could not be started ({record.reason or '+'.join(record.words)})"
    return f"failed ({record.reason})" if record.reason else "failed"
