"""Stopping a job that lives outside: who wants it, when to ask again, and what its end then means."""

from __future__ import annotations

from datetime import datetime

from bascule.model import Duration, Job, JobStatus, Phase, Reason, Report, Stop, StopCause
from bascule.ports import Abilities

FIRST_ASK_AGAIN = 15.0
LONGEST_ASK_AGAIN = 300.0


def wanted_stop(
    job: Job, status: JobStatus, abilities: Abilities | None, now: datetime
) -> tuple[Stop | None, float | None]:
    """Return the stop that is wanted now, and the seconds until a deadline would want one."""
    if job.spec.cancel:
        return _stop(status, StopCause.CANCEL, now), None
    if job.deleted_at is not None:
        return _stop(status, StopCause.DELETE, now), None
    if status.stop is not None and status.stop.cause is not StopCause.SUSPEND:
        return status.stop, None
    if job.spec.suspend:
        return _stop(status, StopCause.SUSPEND, now), None
    if status.stop is not None and status.stop.asked_at is not None:
        return status.stop, None  # asked already: it cannot be taken back
    due: float | None = None
    for limit, start, cause in (
        (job.spec.deadlines.queued, _queued_since(status), StopCause.QUEUED_TOO_LONG),
        (job.spec.deadlines.running, _running_since(status), StopCause.RAN_TOO_LONG),
        (_our_walltime(job, abilities), _running_since(status), StopCause.RAN_TOO_LONG),
    ):
        if limit is None or start is None:
            continue
        left = (start + limit - now).total_seconds()
        if left <= 0:
            return _stop(status, cause, now), None
        due = left if due is None else min(due, left)
    return None, due


def reason_of(stop: Stop) -> Reason:
    """Return what a job shows while it is being stopped."""
    asked = stop.cause in (StopCause.CANCEL, StopCause.DELETE)
    return Reason.CANCELLING if asked else Reason.STOPPING


def ask_again_in(stop: Stop, now: datetime) -> float:
    """Return the seconds until the manager should be asked (again); 0 or less means now."""
    if stop.asked_at is None:
        return 0.0
    wait = min(FIRST_ASK_AGAIN * 2.0 ** max(stop.tries - 1, 0), LONGEST_ASK_AGAIN)
    return wait - (now - stop.asked_at).total_seconds()


def ended_by_stop(job: Job, status: JobStatus, report: Report | None) -> tuple[Phase, str, str] | None:
    """
    Return what an end means that came after we asked for it; None where it is the job's own.

    A job that had ended before it was asked keeps its own result, and success is
    success whenever it comes. One that was cancelled was cancelled by us, even where
    the process died before it could record that it had asked.
    """
    stop = status.stop
    if stop is None:
        return None
    if stop.asked_at is None and (report is None or report.phase is not Phase.CANCELLED):
        return None
    if report is not None:
        if report.phase is Phase.SUCCEEDED:
            return None
        if report.phase is Phase.FAILED and report.finished_at is not None and report.finished_at < stop.since:
            return None
    match stop.cause:
        case StopCause.CANCEL | StopCause.DELETE:
            return Phase.CANCELLED, "", "cancelled as asked"
        case StopCause.SUSPEND:
            return Phase.CANCELLED, Reason.SUSPENDED, "stopped to be suspended"
        case StopCause.QUEUED_TOO_LONG:
            return (
                Phase.FAILED,
                Reason.TIMED_OUT,
                f"was queued for longer than `deadlines.queued` ({job.spec.deadlines.queued})",
            )
        case StopCause.RAN_TOO_LONG:
            limit = job.spec.deadlines.running or job.spec.resources.walltime
            return Phase.FAILED, Reason.TIMED_OUT, f"ran for longer than its limit ({limit})"


def _stop(status: JobStatus, cause: StopCause, now: datetime) -> Stop:
    if status.stop is not None and status.stop.cause is cause:
        return status.stop
    if status.stop is not None:
        return Stop(cause, since=now, asked_at=status.stop.asked_at, tries=status.stop.tries)
    return Stop(cause, since=now)


def _queued_since(status: JobStatus) -> datetime | None:
    waits = status.phase in (Phase.QUEUED, Phase.HELD, Phase.SUBMITTING) and status.started_at is None
    return (status.queued_since or status.submitted_at) if waits else None


def _running_since(status: JobStatus) -> datetime | None:
    return status.started_at if status.phase is Phase.RUNNING else None


def _our_walltime(job: Job, abilities: Abilities | None) -> Duration | None:
    return None if abilities is None or abilities.walltime else job.spec.resources.walltime
