"""
What is to be done about a job's controller pod: pure, all that counts comes in as arguments.

A pod that is gone is made anew as long as its job lives: whoever holds the job's next
agent number is its driver, so one that was left over on a dead node can write nothing. A
pod that a person has deleted is that person's wish to cancel. ``mirrors`` carries it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from bascule.platforms.kubernetes.pods import Pod
from bascule.platforms.kubernetes.wire import StoredJob

OVERDUE = timedelta(seconds=10)
"""How long after its time a pod that was deleted is waited for; its node may be dead."""
SLOW_START = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Make:
    """Make the job's pod."""


@dataclass(frozen=True, slots=True)
class CancelJob:
    """Note that a person wants the job cancelled: its pod was deleted."""


@dataclass(frozen=True, slots=True)
class LetGo:
    """Take our finalizer off the pod."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Put back by what the pod is known as its job's; somebody has taken it away."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Remove the pod ourselves; *at_once* where nobody is left who could confirm its end."""

    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Tell:
    """Say in an Event what keeps the job's pod from its work."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Wait for news; look again after *seconds* where that is not None."""

    seconds: float | None = None


Step = Make | CancelJob | LetGo | Mark | Replace | Tell | Nothing


def next_step(job: StoredJob | None, pod: Pod | None, now: datetime) -> Step:
    """Return what to do next about the pod of *job*, which is None where there is no such job any more."""
    lives = job is not None and job.agent > 0 and not job.status.phase.is_final
    if pod is None:
        return Make() if lives else Nothing()
    if job is None or pod.owner != job.uid:
        return _not_its_own(job, pod, is_wanted=lives)
    if pod.leaves_at is not None:
        return _being_deleted(job, pod, now, lives=lives)
    if pod.has_ended and lives:
        return Replace()
    if lives and not (pod.is_marked and pod.is_held):
        return Mark()
    if lives and pod.created_at is not None and (job.agent == 1 or not pod.has_started):
        return _slow_to_start(pod, now - pod.created_at)
    return Nothing()


def _slow_to_start(pod: Pod, waited: timedelta) -> Step:
    """Decide about a pod whose agent has not yet taken the job."""
    if waited < SLOW_START:
        return Nothing((SLOW_START - waited).total_seconds() + 1)
    if pod.has_started:
        return Tell(
            "AgentSilent", f"the controller pod `{pod.name}` runs and does not take up its job: what runs there?"
        )
    if pod.trouble:
        return Tell("AgentNotStarted", f"the controller pod `{pod.name}` does not start: {pod.trouble}")
    return Nothing()


def _not_its_own(job: StoredJob | None, pod: Pod, *, is_wanted: bool) -> Step:
    """Decide about a pod that bears the job's name and belongs to another object, or to nobody."""
    if pod.is_held and (pod.owner or pod.leaves_at is not None or not is_wanted):
        return LetGo()  # of an earlier job of the same name, which the collector removes; or one that was disowned
    if pod.is_held and is_wanted:
        return Mark()
    if is_wanted and not pod.owner:
        return Tell("PodNameTaken", f"there is a pod `{pod.name}` that is not of this job; remove or rename it")
    return Nothing(10.0 if is_wanted else None)


def _being_deleted(job: StoredJob, pod: Pod, now: datetime, *, lives: bool) -> Step:
    by_a_person = not pod.is_replaced and not pod.is_disrupted
    if lives and by_a_person and not job.spec.cancel and job.deleted_at is None and pod.is_held:
        return CancelJob()
    if pod.is_held:
        return LetGo()
    assert pod.leaves_at is not None  # noqa: S101 - the caller has seen to it
    overdue = now - pod.leaves_at - OVERDUE
    if overdue >= timedelta():
        return Replace(at_once=True)
    return Nothing(-overdue.total_seconds() + 0.5)
