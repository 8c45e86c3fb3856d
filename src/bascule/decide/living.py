"""
A job that lives outside: take in what the manager says, then ask for what is wanted.

Silence never changes a phase. What is wanted (stop, release, hold, walltime, warning)
is compared with what is on record, one action a step.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from bascule.decide.ending import end_attempt
from bascule.decide.plan import (
    Cancel,
    Done,
    Hold,
    Plan,
    Release,
    Seen,
    Signal,
    Trouble,
    Unhold,
    Update,
)
from bascule.decide.reaching import as_from_where_it_is, is_elsewhere, is_let_go, is_unreleased, out_of_reach
from bascule.decide.releasing import release_again_in, release_is_unseen
from bascule.decide.stopping import ask_again_in, ended_by_stop, reason_of, wanted_stop
from bascule.model import (
    Absent,
    CannotTell,
    Event,
    Handle,
    Job,
    JobStatus,
    ManagerView,
    Phase,
    Reason,
    Report,
    Source,
    Stop,
)
from bascule.ports import Abilities

TROUBLE_AGAIN = 30.0
CANNOT_TELL_AGAIN = 60.0


def living(job: Job, handle: Handle, seen: Seen, now: datetime) -> Plan:
    """Decide for a job whose outside id is known and whose end is not."""
    status, events = _after_action(job, seen, now)
    status, news = as_from_where_it_is(job, status, handle, seen)
    match news:
        case Report(phase=Phase() as phase) as report if report.is_over:
            return _over(job, status, report, phase, now)
        case Report() as report:
            status, more = _take_in(status, report, seen.abilities, now)
            events = (*events, *more)
        case Absent() as absent:
            plan = _absent(job, status, absent, seen, now)
            if plan is not None:
                return plan
        case CannotTell(why=why):
            plan_or_status = _cannot_tell(job, status, why, now)
            if isinstance(plan_or_status, Plan):
                return plan_or_status
            if status.phase is not Phase.UNKNOWN:
                events = (*events, Event(now, "Unknown", plan_or_status.message, "Warning"))
            status = plan_or_status
    plan = out_of_reach(job, status) if is_elsewhere(status, seen) else _next(job, status, handle, seen, now)
    return replace(plan, events=(*events, *plan.events))


def _take_in(
    status: JobStatus, report: Report, abilities: Abilities | None, now: datetime
) -> tuple[JobStatus, tuple[Event, ...]]:
    """Put what a live *report* says into the status."""
    view = ManagerView(
        state=report.state,
        reason=report.why,
        nodes=report.nodes,
        restarts=report.restarts,
        expected_start=report.expected_start,
    )
    phase = report.phase if report.phase is not None and not report.phase.is_final else status.phase
    if status.phase is Phase.UNKNOWN and report.phase is None:
        phase = Phase.UNKNOWN
    released_at = status.released_at
    if released_at is None and phase is Phase.HELD and status.intent is not None and status.intent.held:
        phase = Phase.SUBMITTING
    elif released_at is None and report.phase is not None:
        released_at = now
    elif phase is Phase.HELD and release_is_unseen(status, abilities):
        phase = Phase.SUBMITTING
    started = status.started_at
    if phase is Phase.RUNNING:
        started = report.started_at or started or now
    elif phase in (Phase.QUEUED, Phase.HELD):
        started = None
    queued_since = now if status.phase is Phase.RUNNING and started is None else status.queued_since
    changed = replace(
        status,
        phase=phase,
        reason=reason_of(status.stop) if status.stop else report.reason if phase is report.phase else "",
        message=report.explanation or report.state,
        manager=view,
        released_at=released_at,
        started_at=started,
        queued_since=queued_since,
        submitted_at=report.submitted_at or status.submitted_at,
        unknown_since=None if phase is not Phase.UNKNOWN else status.unknown_since,
        tasks=report.tasks or status.tasks,
        exit_code=None,
        signal=None,
    )
    if changed != status:
        changed = replace(changed, observed_at=now, observed_by=report.source)
    events: tuple[Event, ...] = ()
    if status.manager is not None and report.restarts > status.manager.restarts:
        events = (Event(now, "Restarted", f"the manager started it again (restart {report.restarts})", "Warning"),)
    if phase is not status.phase:
        events = (*events, Event(now, str(phase), report.explanation or report.state))
    return changed, events


def _over(job: Job, status: JobStatus, report: Report, said: Phase, now: datetime) -> Plan:
    ended = replace(
        status,
        manager=ManagerView(state=report.state, reason=report.why, nodes=report.nodes, restarts=report.restarts),
        # An array has as many exit codes as tasks.
        exit_code=report.exit_code if report.tasks is None else None,
        signal=report.signal if report.tasks is None else None,
        observed_at=now,
        observed_by=report.source,
        submitted_at=report.submitted_at or status.submitted_at,
        started_at=report.started_at or status.started_at,
        finished_at=report.finished_at or now,
        released_at=status.released_at or now,
        tasks=report.tasks or status.tasks,
    )
    verdict = ended_by_stop(job, ended, report)
    if verdict is not None:
        phase, reason, message = verdict
    else:
        phase, reason, message = said, report.reason, report.explanation or report.state
    return end_attempt(job, ended, now, phase=phase, reason=reason, message=message)


def _absent(job: Job, status: JobStatus, absent: Absent, seen: Seen, now: datetime) -> Plan | None:
    """The manager knows no such job: established loss, once it has had time to settle."""
    if job.spec.adopt is not None and status.manager is None:
        message = f"the manager has no job `{job.spec.adopt.id}` ({absent.evidence})"
        return end_attempt(job, status, now, phase=Phase.FAILED, reason=Reason.REFUSED, message=message)
    asked_at = status.intent.asked_at if status.intent else status.submitted_at or now
    settles = timedelta(seconds=seen.abilities.settles) if seen.abilities else timedelta(minutes=1)
    if absent.as_of < asked_at + settles:
        return None
    if seen.asked_ago is not None and seen.asked_ago < settles.total_seconds():
        return None  # the time of day has jumped: less has passed than it says
    ended = replace(status, observed_at=now, observed_by=Source.INFERRED)
    if status.stop is not None and status.stop.asked_at is not None:
        phase, reason, words = ended_by_stop(job, ended, None) or (Phase.CANCELLED, "", "")
        message = words or f"the manager no longer has it ({absent.evidence})"
        return end_attempt(job, ended, now, phase=phase, reason=reason, message=message)
    message = f"the manager no longer knows this job ({absent.evidence})"
    return end_attempt(job, ended, now, phase=Phase.FAILED, reason=Reason.LOST, message=message)


def _cannot_tell(job: Job, status: JobStatus, why: str, now: datetime) -> JobStatus | Plan:
    since = status.unknown_since or now
    message = f"the manager cannot tell what became of it: {why}"
    limit = job.spec.deadlines.unknown
    if limit is not None and now - since >= limit:
        return end_attempt(job, status, now, phase=Phase.FAILED, reason=Reason.LOST, message=message, proven=False)
    return replace(status, phase=Phase.UNKNOWN, reason=Reason.CANNOT_TELL, message=message, unknown_since=since)


def _after_action(job: Job, seen: Seen, now: datetime) -> tuple[JobStatus, tuple[Event, ...]]:
    """Put on record what became of this pass's last action."""
    status = job.status
    if seen.happened is None:
        return status, ()
    action, result = seen.happened.action, seen.happened.result
    match action, result:
        case Release(), Done():
            # After the second one, a hold is its user's, however soon it was made.
            phase = status.phase if status.released_at is None else Phase.HELD
            return replace(status, phase=phase, released_at=now, message="released"), ()
        case Cancel(), Done() if status.stop is not None:
            return _stop_asked(status, status.stop, now), (
                Event(now, "Stopping", f"asked the manager to end it ({status.stop.cause})"),
            )
        case Cancel(), Trouble() as trouble if status.stop is not None:
            asked = status
            if trouble.kind == "Uncertain":
                asked = _stop_asked(status, status.stop, now)
            return replace(asked, message=f"not stopped yet: {trouble.message}{job.way_out}"), (
                Event(now, "NotStopped", trouble.message, "Warning"),
            )
        case Hold(), Done():
            return status, (Event(now, "HoldAsked", "asked the manager to hold it"),)
        case Unhold(), Done():
            return replace(status, holding=False), (Event(now, "ReleaseAsked", "asked the manager to let it go on"),)
        case Update(walltime=_), Done():
            wanted = job.spec.resources.walltime
            return replace(status, walltime=wanted), (Event(now, "WalltimeChanged", f"walltime is now {wanted}"),)
        case Update(walltime=_), Trouble(kind="Refused" | "Mistake") as trouble:
            event = Event(now, "WalltimeRefused", trouble.message, "Warning")
            return replace(status, walltime=job.spec.resources.walltime), (event,)
        case _, Trouble() as trouble if not isinstance(action, Signal):
            return replace(status, message=trouble.message), ()
    return status, ()


def _stop_asked(status: JobStatus, stop: Stop, now: datetime) -> JobStatus:
    return replace(status, stop=replace(stop, asked_at=now, tries=stop.tries + 1))


def _next(job: Job, status: JobStatus, handle: Handle, seen: Seen, now: datetime) -> Plan:
    """Return the next thing to ask of the manager, if any."""
    result = seen.happened.result if seen.happened is not None else None
    trouble = result if isinstance(result, Trouble) else None
    failed, retry_after = trouble is not None, (trouble.retry_after if trouble else None) or TROUBLE_AGAIN
    if is_let_go(job):
        if is_unreleased(status) and not failed:
            return Plan(status=status, action=Release(handle))
        return Plan(status=status, remove=not failed, look_again_in=retry_after)
    if seen.abilities is None:
        words = seen.problem or "there is no such target"
        return Plan(status=replace(status, message=f"not looked at: {words}{job.way_out}"), look_again_in=TROUBLE_AGAIN)
    stop, due = wanted_stop(job, status, seen.abilities, now)
    waits = [seconds for seconds in (due,) if seconds is not None]
    if stop is not None:
        if status.stop is None or status.stop.cause is not stop.cause:
            status = replace(status, stop=stop, reason=reason_of(stop))
        left = ask_again_in(status.stop or stop, now)
        if left <= 0 and not failed:
            return Plan(status=status, action=Cancel(handle))
        return Plan(status=status, look_again_in=max(left, 1.0) if not failed else retry_after)
    if status.stop is not None:
        # Taken back. It stays on record: a process that died may have asked, and then a cancellation is ours.
        status = replace(status, reason="")
    if status.phase is Phase.UNKNOWN:
        waits.append(CANNOT_TELL_AGAIN)
        return Plan(status=status, look_again_in=min(waits))
    if failed:
        return Plan(status=status, look_again_in=min([*waits, retry_after]))
    action, status, event = _wish(job, status, handle, seen, now)
    if action is not None:
        return Plan(status=status, action=action, events=(event,) if event else ())
    if (left_to_warn := _warning_due(job, status, seen, now)) is not None:
        waits.append(left_to_warn)
    if (left_to_release := release_again_in(status, seen.abilities, now)) is not None:
        waits.append(left_to_release if left_to_release > 0 else TROUBLE_AGAIN)
    return Plan(status=status, look_again_in=min(waits) if waits else None)


def _wish(
    job: Job, status: JobStatus, handle: Handle, seen: Seen, now: datetime
) -> tuple[Release | Hold | Unhold | Update | Signal | None, JobStatus, Event | None]:
    abilities = seen.abilities
    if abilities is None:
        return None, status, None
    if is_unreleased(status):
        if job.spec.hold and abilities.hold:
            return None, replace(status, released_at=now, holding=True), None
        return Release(handle), status, None
    if (left := release_again_in(status, abilities, now)) is not None and left <= 0 and seen.reachable:
        return Release(handle), status, Event(now, "ReleasedAgain", "is still held: the manager forgot the release")
    waits = status.phase in (Phase.QUEUED, Phase.HELD, Phase.SUBMITTING)
    unseen = status.phase is Phase.QUEUED and seen.happened is None
    if abilities.hold and waits and job.spec.hold and (unseen or not status.holding):
        # On record before it is asked: a hold that may have arrived must be lifted one day.
        return Hold(handle), replace(status, holding=True), None
    if abilities.hold and not job.spec.hold and status.holding:
        if status.phase is Phase.RUNNING:
            return None, replace(status, holding=False), None
        return Unhold(handle), status, None
    wanted = job.spec.resources.walltime
    if abilities.update_walltime and wanted is not None and wanted != status.walltime:
        return Update(handle, wanted), status, None
    left = _warning_due(job, status, seen, now)
    if left is not None and left <= 0 and job.spec.signal is not None:
        name = job.spec.signal.name
        event = Event(now, "Warned", f"sent {name}, {job.spec.signal.before} before the walltime ends")
        return Signal(handle, name), replace(status, warned_at=now), event
    return None, status, None


def _warning_due(job: Job, status: JobStatus, seen: Seen, now: datetime) -> float | None:
    """Return the seconds until we must send the warning signal ourselves; None where we need not."""
    warn, walltime, abilities = job.spec.signal, job.spec.resources.walltime, seen.abilities
    if warn is None or walltime is None or abilities is None or abilities.warns or not abilities.signal:
        return None
    if status.phase is not Phase.RUNNING or status.started_at is None or status.warned_at is not None:
        return None
    return (status.started_at + walltime - warn.before - now).total_seconds()
