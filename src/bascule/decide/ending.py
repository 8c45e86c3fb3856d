"""How an attempt ends, whether another follows, and what becomes of a job that is over."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from bascule.decide.plan import Forget, Plan, Seen
from bascule.decide.reaching import is_elsewhere
from bascule.model import Attempt, Event, Job, JobStatus, Phase, Reason, Source, Stop, StopCause

ATTEMPTS_KEPT = 5
FIRST_RETRY = 5.0
LONGEST_RETRY = 600.0


def end_attempt(
    job: Job,
    status: JobStatus,
    now: datetime,
    *,
    phase: Phase,
    reason: str,
    message: str,
    proven: bool = True,
) -> Plan:
    """
    End the running attempt, and the job with it unless its policy asks for another.

    *proven* False means that the outside job was not seen to be over: then no other
    attempt may follow, since the first could still run.
    """
    cause = status.stop.cause if status.stop else None
    ended = replace(
        status,
        phase=phase,
        reason=reason,
        message=message,
        finished_at=status.finished_at or now,
        unknown_since=None,
        not_before=None,
    )
    if cause is StopCause.SUSPEND and phase is Phase.CANCELLED and not job.spec.cancel and job.deleted_at is None:
        return _again(
            job,
            ended,
            now,
            reason=Reason.SUSPENDED,
            message="stopped; a new attempt follows when `suspend` is false again",
        )
    if proven and _may_retry(job, ended):
        return _again(
            job, ended, now, reason=Reason.RETRYING, message=f"attempt {ended.attempt} failed ({reason}): {message}"
        )
    return Plan(status=ended, events=(_end_event(phase, reason, message, now),), look_again_in=0.0)


def end_before_submit(job: Job, now: datetime, *, phase: Phase, reason: str, message: str) -> Plan:
    """End a job that never went outside, or no longer is there."""
    status = replace(
        job.status, phase=phase, reason=reason, message=message, finished_at=now, intent=None, unknown_since=None
    )
    return Plan(status=status, events=(_end_event(phase, reason, message, now),), look_again_in=0.0)


def over(job: Job, seen: Seen, now: datetime) -> Plan:
    """Decide for a job in a final phase: nothing, or its removal when deleted or past its time."""
    status = job.status
    due = min(job.deleted_at, now) if job.deleted_at is not None else None
    if job.spec.ttl_after_finished is not None and status.finished_at is not None:
        expires = status.finished_at + job.spec.ttl_after_finished
        due = min(due, expires) if due else expires
    if due is None:
        return Plan(status=status)
    if due > now:
        return Plan(status=status, look_again_in=(due - now).total_seconds())
    forgettable = status.handle is not None and job.spec.adopt is None and not is_elsewhere(status, seen)
    if forgettable and status.handle is not None and seen.happened is None and seen.abilities is not None:
        return Plan(status=status, action=Forget(status.handle))
    return Plan(status=status, remove=True)


def is_taken_back(job: Job, stop: Stop) -> bool:
    """Tell whether nobody wants *stop* any more, and the manager is not known to have been asked."""
    return stop.cause is StopCause.SUSPEND and stop.asked_at is None and not job.spec.suspend


def _may_retry(job: Job, ended: JobStatus) -> bool:
    return (
        ended.phase is Phase.FAILED
        and (ended.stop is None or is_taken_back(job, ended.stop))
        and not job.spec.cancel
        and job.spec.adopt is None
        and job.deleted_at is None
        and ended.reason in job.spec.retry.reasons
        and ended.retries < job.spec.retry.limit
    )


def _again(job: Job, ended: JobStatus, now: datetime, *, reason: Reason, message: str) -> Plan:
    retries = ended.retries + (reason is Reason.RETRYING)
    wait = min(FIRST_RETRY * 2.0 ** (retries - 1), LONGEST_RETRY) if reason is Reason.RETRYING else 0.0
    past = Attempt(
        attempt=ended.attempt,
        key=ended.key,
        id=ended.id,
        phase=ended.phase,
        reason=ended.reason,
        message=ended.message,
        exit_code=ended.exit_code,
        signal=ended.signal,
        started_at=ended.started_at,
        finished_at=ended.finished_at,
        tasks=ended.tasks,
        place=ended.handle.place if ended.handle else "",
    )
    status = JobStatus(
        phase=Phase.PENDING,
        reason=reason,
        message=message,
        attempt=ended.attempt + 1,
        attempts=(*ended.attempts, past)[-ATTEMPTS_KEPT:],
        conditions=ended.conditions,
        observed_generation=ended.observed_generation,
        observed_at=now,
        observed_by=Source.INFERRED,
        not_before=now + timedelta(seconds=wait) if wait else None,
        retries=retries,
    )
    return Plan(status=status, events=(Event(now, str(reason), message, "Warning"),), look_again_in=wait)


def _end_event(phase: Phase, reason: str, message: str, now: datetime) -> Event:
    words = f"{reason}: {message}" if reason and message else reason or message
    return Event(now, str(phase), words, "Warning" if phase is Phase.FAILED else "Normal")
