"""
Between the intent and the id: submitted or not, that is the question.

Whoever comes here without knowing what became of the submit (a new process, a lost
answer) looks before doing anything. A second submit needs proof of absence: live view
and history, both whole, both read later than the last try by the settling time.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from bascule.decide.ending import end_attempt, end_before_submit
from bascule.decide.living import living
from bascule.decide.plan import Cancel, Done, Find, Plan, Seen, Submit, Trouble
from bascule.decide.reaching import is_elsewhere, why_elsewhere
from bascule.model import Absent, CannotTell, Event, Found, Handle, Intent, Job, Match, Phase, Reason, key_for
from bascule.ports import Abilities

FIND_AGAIN = 5.0
"""Seconds between two looks for a key of which we know nothing."""
CANNOT_TELL_AGAIN = 60.0


def submitting(job: Job, intent: Intent, seen: Seen, now: datetime) -> Plan:
    """Decide for a job whose intent is saved and whose outside id is not known."""
    happened = seen.happened
    if happened is None:
        return _look(job, intent, seen, now)
    match happened.result:
        case Done(handle=Handle() as handle):
            return _have(job, handle, seen, now, because=f"submitted as `{handle.id}`")
        case Absent() if is_elsewhere(job.status, seen):
            return _cannot_tell(job, why_elsewhere(job), now)
        case Found(matches=matches) if matches:
            return _take(job, matches, seen, now)
        case Absent() as absent:
            return _absent(job, intent, absent, seen, now)
        case CannotTell(why=why):
            return _cannot_tell(job, why, now)
        case Trouble() as trouble if isinstance(happened.action, Submit):
            return _not_submitted(job, intent, trouble, now)
        case Trouble() as trouble:
            return _silent(job, trouble)
    return Plan(status=job.status, look_again_in=FIND_AGAIN)


def _look(job: Job, intent: Intent, seen: Seen, now: datetime) -> Plan:
    if seen.abilities is None:
        words = seen.problem or "there is no such target"
        return Plan(
            status=replace(job.status, message=f"cannot look for `{job.status.key}`: {words}{job.way_out}"),
            look_again_in=CANNOT_TELL_AGAIN,
        )
    if seen.reachable is False:
        return Plan(
            status=replace(job.status, message=seen.silence or job.status.message), look_again_in=CANNOT_TELL_AGAIN
        )
    return Plan(status=job.status, action=Find(job.status.key, since=intent.at, may_have_run=intent.tries == 0))


def _have(job: Job, handle: Handle, seen: Seen, now: datetime, *, because: str) -> Plan:
    status = replace(
        job.status,
        id=handle.id,
        handle=handle,
        submitted_at=handle.submitted_at or now,
        reason="",
        message=because,
        unknown_since=None,
        phase=Phase.SUBMITTING,
        address=seen.address,
    )
    if (intent := status.intent) is not None:
        # The answer may have been long on its way: the job is as new as the answer, and may yet have to appear.
        status = replace(status, intent=replace(intent, asked_at=now))
        if not intent.held:
            status = replace(status, phase=Phase.QUEUED, released_at=now)
    onward = living(replace(job, status=status), handle, replace(seen, happened=None, news=None), now)
    return onward.and_event(Event(now, "Submitted", because))


def _take(job: Job, matches: tuple[Match, ...], seen: Seen, now: datetime) -> Plan:
    """Adopt what bears our key: what could run before what is held, the oldest before the younger."""
    chosen = next((match for match in matches if not match.held), matches[0])
    others = [match for match in matches if match is not chosen and not match.report.is_over]
    plan = _have(job, chosen.handle, seen, now, because=f"found as `{chosen.handle.id}`")
    if others and plan.action is None:
        return replace(plan, action=Cancel(others[0].handle), look_again_in=0.0)
    return plan


def _absent(job: Job, intent: Intent, absent: Absent, seen: Seen, now: datetime) -> Plan:
    settles = timedelta(seconds=seen.abilities.settles) if seen.abilities else timedelta(minutes=1)
    certain_at = intent.asked_at + settles
    if seen.asked_ago is not None:
        # The time of day may have jumped since; the time that passed in this process has not.
        certain_at = max(certain_at, absent.as_of + settles - timedelta(seconds=seen.asked_ago))
    if absent.as_of < certain_at:
        left = (certain_at - absent.as_of).total_seconds()
        return Plan(status=job.status, look_again_in=min(left, FIND_AGAIN) + 0.001)
    if intent.earlier:
        # The number of the attempt may be made up: what an earlier one has left is looked for under its own key.
        key = _key_of(job, intent.earlier, seen)
        status = replace(job.status, key=key, intent=replace(intent, earlier=intent.earlier - 1))
        return Plan(status=status, action=Find(key, since=intent.at, may_have_run=True))
    if job.deleted_at is not None:
        return Plan(status=job.status, remove=True)
    if absent.instance != intent.instance and intent.tries > 0:
        message = "the manager was started anew since the submit, and has forgotten what it ran"
        return end_attempt(job, job.status, now, phase=Phase.FAILED, reason=Reason.LOST, message=message)
    if job.spec.cancel:
        return end_before_submit(
            job, now, phase=Phase.CANCELLED, reason="", message="cancelled before it was submitted"
        )
    if job.spec.suspend or seen.reachable is False or seen.problem:
        return Plan(status=replace(job.status, phase=Phase.PENDING, reason="", intent=None), look_again_in=0.0)
    status = replace(
        job.status,
        phase=Phase.SUBMITTING,
        reason="",
        unknown_since=None,
        message=f"submitting attempt {job.status.attempt} again",
        intent=replace(intent, asked_at=now, tries=intent.tries + 1),
        key=_key_of(job, job.status.attempt, seen),
        address=seen.address,
    )
    evidence = f"`{job.status.key}` is not there ({absent.evidence}): submitting again"
    return Plan(
        status=status,
        action=Submit(status.key, intent.held),
        events=(Event(now, "Submitting", evidence),),
    )


def _cannot_tell(job: Job, why: str, now: datetime) -> Plan:
    if job.deleted_at is not None and job.spec.on_delete == "Detach":
        return Plan(status=job.status, remove=True)
    since = job.status.unknown_since or now
    limit = job.spec.deadlines.unknown
    message = f"the submit may have happened, and the manager cannot tell: {why}{job.way_out}"
    if limit is not None and now - since >= limit:
        return end_before_submit(job, now, phase=Phase.FAILED, reason=Reason.LOST, message=message)
    status = replace(job.status, phase=Phase.UNKNOWN, reason=Reason.CANNOT_TELL, message=message, unknown_since=since)
    wait = CANNOT_TELL_AGAIN
    if limit is not None:
        wait = min(wait, (limit - (now - since)).total_seconds())
    if job.status.phase is Phase.UNKNOWN:
        return Plan(status=status, look_again_in=wait)
    return Plan(status=status, events=(Event(now, "Unknown", message, "Warning"),), look_again_in=wait)


def _not_submitted(job: Job, intent: Intent, trouble: Trouble, now: datetime) -> Plan:
    words = f"{trouble.message} ({trouble.hint})" if trouble.hint else trouble.message
    if trouble.kind == "Uncertain":
        status = replace(
            job.status,
            intent=replace(intent, asked_at=now),  # it may arrive from now on as well
            reason=Reason.SUBMIT_UNCERTAIN,
            message=f"the submit may have happened, looking for it: {trouble.message}",
        )
        event = Event(now, "SubmitUncertain", words, "Warning")
        return Plan(status=status, events=(event,), look_again_in=FIND_AGAIN)
    if job.spec.cancel and trouble.kind != "Unavailable":
        return end_before_submit(
            job, now, phase=Phase.CANCELLED, reason="", message="cancelled before it was submitted"
        )
    if trouble.kind == "Unavailable":
        if intent.tries > 1:
            # An earlier try is not settled by this one's failure: keep looking for it.
            return Plan(status=replace(job.status, message=words), look_again_in=trouble.retry_after or FIND_AGAIN)
        status = replace(job.status, phase=Phase.PENDING, reason=Reason.TARGET_UNREACHABLE, message=words, intent=None)
        return Plan(status=status, look_again_in=trouble.retry_after or FIND_AGAIN)
    return end_before_submit(job, now, phase=Phase.FAILED, reason=Reason.REFUSED, message=words)


def _key_of(job: Job, attempt: int, seen: Seen) -> str:
    return key_for(job.name, installation=seen.installation, uid=job.uid, attempt=attempt)


def _silent(job: Job, trouble: Trouble) -> Plan:
    """A search that failed is no news about the job."""
    return Plan(status=replace(job.status, message=trouble.message), look_again_in=trouble.retry_after or FIND_AGAIN)


def must_hold(abilities: Abilities, submission: str) -> bool:
    """Tell whether a submit goes in two phases: held, then released once the id is saved."""
    return abilities.holds and abilities.key != "chosen" and submission == "Held"
