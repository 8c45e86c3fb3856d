"""
Before an attempt goes outside: what may hold it back, and the intent to submit.

The gates stand in the order in which a person would ask: is it still wanted, may it go
yet, is there a place, is there room.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from bascule.decide.ending import end_before_submit
from bascule.decide.plan import Find, Plan, Seen, Submit
from bascule.model import Event, Handle, Intent, Job, Phase, Reason, key_for

MOST_EARLIER = 5
"""Earlier attempts that are looked for where a record was lost."""
ASK_AGAIN = 900.0
"""Seconds after which a waiting job is looked at again even if nothing woke it."""


class Wait(NamedTuple):
    """Why a job stays Pending, and for how long at most."""

    reason: Reason
    message: str
    seconds: float | None = ASK_AGAIN


def waiting(job: Job, seen: Seen, now: datetime) -> Plan:
    """Decide for a job whose attempt has no intent yet."""
    doubtful = _is_older_than_the_store(job, seen)
    if not doubtful:
        if job.deleted_at is not None:
            return Plan(status=job.status, remove=True)
        if job.spec.cancel:
            return end_before_submit(
                job, now, phase=Phase.CANCELLED, reason="", message="cancelled before it was submitted"
            )
    if own := _held_back_by_itself(job, seen, now):
        return own if isinstance(own, Plan) else _wait(job, own, queued_since=None)
    since = job.status.queued_since or now
    limit = job.spec.deadlines.queued
    if limit is not None and now - since >= limit and not doubtful:
        message = f"was not submitted within `deadlines.queued` ({limit}): {job.status.message or 'it had to wait'}"
        return end_before_submit(job, now, phase=Phase.FAILED, reason=Reason.TIMED_OUT, message=message)
    if outer := _held_back_by_target(seen):
        plan = _wait(job, outer, queued_since=since)
        if limit is not None and not doubtful:
            left = (limit - (now - since)).total_seconds()
            plan = replace(plan, look_again_in=min(left, plan.look_again_in or left))
        return plan
    if job.spec.adopt is not None:
        return _adopt(job, job.spec.adopt.id, now, address=seen.address)
    return _intend(job, seen, now, queued_since=since, look_first=doubtful)


def _is_older_than_the_store(job: Job, seen: Seen) -> bool:
    """Tell whether the object may be a restored copy, or a damaged one, whose job already went outside."""
    if job.status.is_doubtful:
        return True
    return (
        seen.distrusts_before is not None
        and job.created_at is not None
        and job.created_at < seen.distrusts_before
        and job.spec.adopt is None
    )


def _held_back_by_itself(job: Job, seen: Seen, now: datetime) -> Wait | Plan | None:
    if job.spec.suspend and not job.spec.cancel and job.deleted_at is None:
        return Wait(Reason.SUSPENDED, "suspended: set `suspend: false` to go on", None)
    not_before = job.status.not_before
    if not_before is not None and now < not_before:
        return Wait(Reason.RETRYING, job.status.message, (not_before - now).total_seconds())
    for after in job.spec.after:
        phase = seen.predecessors.get(after.job)
        if phase is None:
            return Wait(
                Reason.WAITING_FOR_JOB, f"waits for job `{after.job}`, which does not exist yet: is that its name?"
            )
        if not phase.is_final:
            return Wait(Reason.WAITING_FOR_JOB, f"waits for job `{after.job}` ({phase})")
        if (after.when == "Succeeded" and phase is not Phase.SUCCEEDED) or (
            after.when == "Failed" and phase is not Phase.FAILED
        ):
            return end_before_submit(
                job,
                now,
                phase=Phase.FAILED,
                reason=Reason.DEPENDENCY_NOT_MET,
                message=f"job `{after.job}` is {phase}, and `after` asks for {after.when}",
            )
    return None


def _held_back_by_target(seen: Seen) -> Wait | None:
    if not seen.target_exists:
        return Wait(Reason.TARGET_NOT_FOUND, seen.problem or "there is no such target")
    if seen.problem:
        words = f"{seen.problem} ({seen.hint})" if seen.hint else seen.problem
        return Wait(Reason.NOT_ACCEPTED, words, None)
    if seen.reachable is False:
        return Wait(Reason.TARGET_UNREACHABLE, seen.silence or "the target cannot be reached")
    if seen.abilities is not None and seen.abilities.volatile and not seen.instance:
        return Wait(Reason.TARGET_UNREACHABLE, "the target has not answered yet")
    if not seen.has_room:
        return Wait(Reason.TARGET_FULL, "the target has as many active jobs as its `limits.activeJobs` allows")
    return None


def _wait(job: Job, wait: Wait, *, queued_since: datetime | None) -> Plan:
    status = replace(
        job.status,
        phase=Phase.PENDING,
        reason=wait.reason,
        message=f"{wait.message}{job.way_out}",
        queued_since=queued_since,
    )
    return Plan(status=status, look_again_in=wait.seconds)


def _intend(job: Job, seen: Seen, now: datetime, *, queued_since: datetime, look_first: bool) -> Plan:
    attempt = job.status.attempt or 1
    key = key_for(job.name, installation=seen.installation, uid=job.uid, attempt=attempt)
    abilities = seen.abilities
    held = seen.held_submit or (job.spec.hold and abilities is not None and abilities.hold)
    status = replace(
        job.status,
        phase=Phase.SUBMITTING,
        reason="",
        message=f"submitting attempt {attempt}",
        attempt=attempt,
        key=key,
        id=None,
        intent=Intent(at=now, asked_at=now, held=held, instance=seen.instance),
        released_at=None,
        queued_since=queued_since,
        not_before=None,
        walltime=job.spec.resources.walltime,
        address=seen.address,
    )
    if look_first and job.created_at is not None:
        status = replace(
            status,
            message="looking for an earlier submit: this object may be older than the truth",
            intent=Intent(
                at=job.created_at,
                asked_at=job.created_at,
                held=held,
                tries=0,
                instance=seen.instance,
                earlier=min(attempt - 1, MOST_EARLIER) if job.status.is_doubtful else 0,
            ),
            address="",
            is_doubtful=False,
        )
        return Plan(status=status, action=Find(key, since=job.created_at, may_have_run=True))
    return Plan(
        status=status,
        action=Submit(key, held),
        events=(Event(now, "Submitting", f"attempt {attempt} as `{key}` to target `{job.spec.target.name}`"),),
    )


def _adopt(job: Job, wanted: str, now: datetime, *, address: str) -> Plan:
    status = replace(
        job.status,
        phase=Phase.SUBMITTING,
        reason="",
        message=f"adopting job `{wanted}`",
        attempt=max(job.status.attempt, 1),
        is_doubtful=False,
        id=wanted,
        intent=Intent(at=now, asked_at=now, tries=0),
        handle=Handle(id=wanted),
        released_at=now,
        walltime=job.spec.resources.walltime,
        address=address,
    )
    return Plan(status=status, events=(Event(now, "Adopting", f"watches the job `{wanted}`"),))
