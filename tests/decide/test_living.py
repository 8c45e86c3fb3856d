"""A job that lives outside."""

import pytest
from msgspec.structs import replace

from bascule.decide import Cancel, Done, Happened, Hold, Release, Signal, Trouble, Unhold, Update, decide
from bascule.model import (
    Absent,
    CannotTell,
    Deadlines,
    Duration,
    Handle,
    Phase,
    Reason,
    Report,
    Resources,
    Retry,
    Stop,
    StopCause,
    Warn,
)
from tests.decide.stories import KEY, NOW, RAY_LIKE, SLURM_LIKE, ago, job, outside, seen

HANDLE = Handle("4711", KEY)
RUNNING = Report(Phase.RUNNING, state="RUNNING", explanation="running on n1", nodes=("n1",), started_at=ago(minutes=10))
DONE = Report(Phase.SUCCEEDED, state="COMPLETED", exit_code=0, explanation="exit code 0")
FAILED = Report(Phase.FAILED, state="FAILED", reason="ExitCode", exit_code=3, explanation="exit code 3")
NODE_FAILED = Report(Phase.FAILED, state="NODE_FAIL", reason="NodeFailed", explanation="n1 died")


def told(news, status=None, abilities=None, **fields):
    """What follows *news* about a job that lives outside."""
    return decide(job(status or outside(), **fields), seen(abilities or seen().abilities, news=news), NOW)


class TestNews:
    def test_silence_changes_nothing(self):
        status = outside()

        plan = decide(job(status), seen(reachable=False, silence="no answer"), NOW)

        assert status.phase == plan.status.phase
        assert status.reason == plan.status.reason

    def test_an_unknown_word_keeps_the_phase_and_is_shown(self):
        plan = told(Report(None, state="QUANTUM_FLUX"))

        assert Phase.RUNNING == plan.status.phase
        assert "QUANTUM_FLUX" == plan.status.manager.state

    def test_an_end_that_is_not_settled_is_no_end(self):
        """Slurm's COMPLETING: the nodes are still being cleared."""
        plan = told(Report(Phase.SUCCEEDED, state="COMPLETING", settled=False))

        assert Phase.RUNNING == plan.status.phase

    def test_a_requeued_job_is_queued_again_and_the_restart_is_told(self):
        plan = told(Report(Phase.QUEUED, state="REQUEUED", restarts=1))

        assert (Phase.QUEUED, None) == (plan.status.phase, plan.status.started_at)
        assert "Restarted" in [event.reason for event in plan.events]

    def test_the_same_news_again_writes_nothing(self):
        first = told(RUNNING)
        again = decide(job(first.status), seen(news=RUNNING), ago(hours=-1))

        assert first.status == again.status

    def test_the_end_is_taken_as_the_manager_tells_it(self):
        plan = told(FAILED)

        assert (Phase.FAILED, "ExitCode", 3) == (plan.status.phase, plan.status.reason, plan.status.exit_code)

    def test_cannot_tell_is_unknown_and_never_final(self):
        unknown = told(CannotTell("record gone, no accounting"))
        back = decide(job(unknown.status), seen(news=DONE), NOW)

        assert Phase.UNKNOWN == unknown.status.phase
        assert Phase.SUCCEEDED == back.status.phase

    def test_a_loss_that_was_never_proven_gets_no_second_attempt(self):
        """The first could still be running."""
        limits = Deadlines(unknown=Duration.parse("1h"))

        plan = told(
            CannotTell("no accounting"),
            outside(Phase.UNKNOWN, unknown_since=ago(hours=2)),
            deadlines=limits,
            retry=Retry(3, (Reason.LOST,)),
        )

        assert (Phase.FAILED, Reason.LOST) == (plan.status.phase, plan.status.reason)

    def test_established_absence_is_lost(self):
        plan = told(Absent("live and history", NOW))

        assert (Phase.FAILED, Reason.LOST) == (plan.status.phase, plan.status.reason)

    def test_absence_just_after_the_submit_is_no_loss(self):
        plan = told(Absent("live and history", NOW), outside(Phase.QUEUED, asked_at=ago(seconds=30)))

        assert Phase.QUEUED == plan.status.phase

    def test_a_jump_of_the_clock_just_after_the_submit_is_no_loss(self):
        """By the time of day it was half an hour ago, by this process's own clock it was not."""
        absent = Absent("the live view and the history were read", as_of=NOW)

        plan = decide(job(outside()), seen(news=absent, asked_ago=2.0), NOW)

        assert not plan.status.phase.is_final


class TestRelease:
    def test_a_release_that_is_not_on_record_is_made(self):
        plan = decide(job(outside(Phase.SUBMITTING, released=False)), seen(), NOW)

        assert Release(HANDLE) == plan.action

    def test_our_own_hold_is_not_shown_as_the_users(self):
        plan = told(Report(Phase.HELD, state="PENDING"), outside(Phase.SUBMITTING, released=False))

        assert Phase.SUBMITTING == plan.status.phase

    def test_a_release_that_the_manager_forgot_is_made_once_more(self):
        """It was restarted, and has nothing of its last seconds; else the job would be Submitting for ever."""
        status = replace(outside(Phase.SUBMITTING), released_at=ago(minutes=2))
        held = Report(Phase.HELD, state="PENDING")

        seen_held = told(held, status)
        again = decide(job(status), seen(happened=Happened(Release(HANDLE), Done())), NOW)

        assert Release(HANDLE) == seen_held.action
        assert (Phase.HELD, None) == (again.status.phase, again.action)

    def test_a_release_is_made_once_where_nothing_would_tell_that_the_job_ran(self):
        """It may have been released, have run, and be held again by a manager that forgot all that."""
        status = replace(outside(Phase.SUBMITTING), released_at=ago(minutes=2))

        plan = told(Report(Phase.HELD, state="PENDING"), status, abilities=replace(SLURM_LIKE, recalls=False))

        assert (Phase.HELD, None) == (plan.status.phase, plan.action)

    def test_a_hold_just_after_the_release_may_be_an_old_answer(self):
        status = replace(outside(Phase.SUBMITTING), released_at=ago(seconds=5))

        plan = told(Report(Phase.HELD, state="PENDING"), status)

        assert (Phase.SUBMITTING, None) == (plan.status.phase, plan.action)
        assert 55 == plan.look_again_in

    def test_a_release_that_was_seen_is_never_repeated(self):
        """A hold after it is the user's own."""
        plan = told(Report(Phase.HELD, state="PENDING"), outside(Phase.QUEUED))

        assert Phase.HELD == plan.status.phase
        assert plan.action is None

    def test_seen_released_is_released(self):
        """The record was lost in a crash; the manager knows."""
        plan = told(RUNNING, outside(Phase.SUBMITTING, released=False))

        assert plan.status.released_at is not None
        assert plan.action is None


class TestStop:
    def test_cancel_asks_the_manager(self):
        assert Cancel(HANDLE) == decide(job(outside(), cancel=True), seen(), NOW).action

    def test_cancel_is_confirmed_only_by_the_manager(self):
        asked = decide(job(outside(), cancel=True), seen(), NOW)
        after = decide(job(asked.status, cancel=True), seen(happened=Happened(asked.action, Done())), NOW)

        assert Phase.RUNNING == after.status.phase
        assert after.action is None

    def test_a_cancel_that_did_not_arrive_is_asked_again(self):
        asked = decide(job(outside(), cancel=True), seen(), NOW)
        trouble = Happened(asked.action, Trouble("Unavailable", "connection refused"))
        after = decide(job(asked.status, cancel=True), seen(happened=trouble), NOW)

        later = decide(job(after.status, cancel=True), seen(), ago(minutes=-1))

        assert after.action is None
        assert Cancel(HANDLE) == later.action

    def test_a_job_that_ended_by_our_signal_is_cancelled(self):
        status = outside(stop=Stop(StopCause.CANCEL, since=ago(seconds=20), asked_at=ago(seconds=10)))

        plan = told(Report(Phase.FAILED, state="FAILED", reason="Signal", signal=15), status, cancel=True)

        assert Phase.CANCELLED == plan.status.phase

    def test_a_success_that_was_faster_is_a_success(self):
        status = outside(stop=Stop(StopCause.CANCEL, since=ago(seconds=20), asked_at=ago(seconds=10)))

        assert Phase.SUCCEEDED == told(DONE, status, cancel=True).status.phase

    def test_a_cancel_from_outside_is_seen(self):
        plan = told(Report(Phase.CANCELLED, state="CANCELLED by 1000", explanation="cancelled by user 1000"))

        assert (Phase.CANCELLED, "cancelled by user 1000") == (plan.status.phase, plan.status.message)

    def test_deletion_cancels_and_waits(self):
        plan = decide(job(outside(), deleted_at=NOW), seen(), NOW)

        assert Cancel(HANDLE) == plan.action
        assert not plan.remove

    def test_detach_lets_it_run(self):
        plan = decide(job(outside(), deleted_at=NOW, on_delete="Detach"), seen(), NOW)

        assert plan.remove
        assert plan.action is None

    def test_detach_releases_what_we_hold(self):
        """Else it would wait for ever."""
        plan = decide(job(outside(Phase.SUBMITTING, released=False), deleted_at=NOW, on_delete="Detach"), seen(), NOW)

        assert Release(HANDLE) == plan.action
        assert not plan.remove

    def test_a_suspended_job_is_stopped_and_gets_a_new_attempt(self):
        status = outside(stop=Stop(StopCause.SUSPEND, since=ago(seconds=20), asked_at=ago(seconds=10)))

        plan = told(Report(Phase.CANCELLED, state="CANCELLED"), status, suspend=True)

        assert (Phase.PENDING, Reason.SUSPENDED, 2) == (plan.status.phase, plan.status.reason, plan.status.attempt)

    def test_a_deadline_is_a_time_out_though_the_process_died_after_it_asked(self):
        """The stop was on record before the manager was asked, and that it was asked never came to be."""
        stop = Stop(StopCause.RAN_TOO_LONG, since=ago(minutes=1))
        cancelled = Report(Phase.CANCELLED, state="CANCELLED")

        plan = told(cancelled, outside(stop=stop), deadlines=Deadlines(running=Duration(minutes=9)))

        assert (Phase.FAILED, Reason.TIMED_OUT) == (plan.status.phase, plan.status.reason)

    def test_a_suspend_that_was_taken_back_in_time_does_nothing(self):
        """Else the job says Stopping for ever, and a lost node gets it no second attempt."""
        stopping = outside(stop=Stop(StopCause.SUSPEND, since=ago(minutes=1)), reason=Reason.STOPPING)

        plan = decide(job(stopping), seen(), NOW)
        lost = told(NODE_FAILED, plan.status, retry=Retry(limit=1))

        assert ("", None) == (plan.status.reason, plan.action)
        assert (Phase.PENDING, Reason.RETRYING) == (lost.status.phase, lost.status.reason)

    def test_a_suspend_that_was_taken_back_too_late_gets_a_new_attempt(self):
        """The process died after it had asked, and before that was on record."""
        stopping = outside(stop=Stop(StopCause.SUSPEND, since=ago(minutes=1)))
        resumed = decide(job(stopping), seen(), NOW).status

        plan = told(Report(Phase.CANCELLED, state="CANCELLED"), resumed)

        assert (Phase.PENDING, 2) == (plan.status.phase, plan.status.attempt)

    def test_the_running_deadline_is_ours(self):
        limits = Deadlines(running=Duration.parse("5m"))
        stopped = decide(job(outside(), deadlines=limits), seen(), NOW)
        asked = decide(job(stopped.status, deadlines=limits), seen(happened=Happened(stopped.action, Done())), NOW)

        ended = decide(job(asked.status, deadlines=limits), seen(news=Report(Phase.CANCELLED)), NOW)

        assert Cancel(HANDLE) == stopped.action
        assert (Phase.FAILED, Reason.TIMED_OUT) == (ended.status.phase, ended.status.reason)

    def test_a_walltime_that_the_manager_does_not_keep_is_kept_by_us(self):
        limit = Resources(walltime=Duration.parse("5m"))

        ours = decide(job(outside(), resources=limit), seen(RAY_LIKE), NOW)
        theirs = decide(job(outside(walltime=limit.walltime), resources=limit), seen(), NOW)

        assert isinstance(ours.action, Cancel)
        assert theirs.action is None


class TestRetry:
    def test_a_named_reason_gets_a_new_attempt_after_a_pause(self):
        plan = told(NODE_FAILED, retry=Retry(2))

        assert (Phase.PENDING, 2) == (plan.status.phase, plan.status.attempt)
        assert plan.status.handle is None
        assert plan.status.not_before > NOW
        assert "4711" == plan.status.attempts[0].id

    def test_another_reason_does_not(self):
        assert Phase.FAILED == told(FAILED, retry=Retry(2)).status.phase

    def test_the_limit_is_kept(self):
        assert Phase.FAILED == told(NODE_FAILED, outside(retries=2), retry=Retry(2)).status.phase

    @pytest.mark.parametrize("wish", [{"cancel": True}, {"deleted_at": NOW}])
    def test_nobody_who_wants_it_gone_gets_another(self, wish):
        assert told(NODE_FAILED, retry=Retry(2), **wish).status.phase.is_final


class TestWishes:
    def test_hold_and_release(self):
        held = decide(job(outside(Phase.QUEUED), hold=True), seen(), NOW)
        freed = decide(job(outside(Phase.HELD, holding=True)), seen(), NOW)

        assert Hold(HANDLE) == held.action
        assert Unhold(HANDLE) == freed.action

    def test_a_hold_that_may_have_arrived_is_lifted(self):
        """Its answer was lost, or its process died; else the job would be Held for ever."""
        intended = decide(job(outside(Phase.QUEUED), hold=True), seen(), NOW)
        trouble = Happened(Hold(HANDLE), Trouble("Uncertain", "no answer"))
        in_doubt = decide(job(intended.status, hold=True), seen(happened=trouble), NOW).status

        freed = decide(job(in_doubt), seen(), NOW)

        assert intended.status.holding
        assert isinstance(freed.action, Unhold)

    def test_a_hold_that_fails_again_and_again_writes_nothing(self):
        """Each write wakes the job, which would ask without a pause."""
        trouble = Happened(Hold(HANDLE), Trouble("Refused", "not now"))
        first = decide(job(outside(Phase.QUEUED, holding=True), hold=True), seen(happened=trouble), NOW)
        asked = decide(job(first.status, hold=True), seen(), NOW)
        again = decide(job(asked.status, hold=True), seen(happened=trouble), NOW)

        assert Hold(HANDLE) == asked.action
        assert first.status == asked.status == again.status
        assert 30 == again.look_again_in

    def test_a_hold_that_was_not_seen_to_arrive_is_asked_again(self):
        assert Hold(HANDLE) == decide(job(outside(Phase.QUEUED, holding=True), hold=True), seen(), NOW).action
        assert decide(job(outside(Phase.HELD, holding=True), hold=True), seen(), NOW).action is None

    def test_a_new_walltime_is_passed_on_once(self):
        longer = Resources(walltime=Duration.parse("2h"))
        asked = decide(job(outside(walltime=Duration.parse("1h")), resources=longer), seen(), NOW)
        after = decide(job(asked.status, resources=longer), seen(happened=Happened(asked.action, Done())), NOW)

        assert Update(HANDLE, longer.walltime) == asked.action
        assert after.action is None
        assert longer.walltime == after.status.walltime

    def test_the_warning_is_sent_once_and_recorded_before(self):
        wishes = {
            "resources": Resources(walltime=Duration.parse("15m")),
            "signal": Warn("USR1", Duration.parse("5m")),
        }
        plan = decide(job(outside(walltime=Duration.parse("15m")), **wishes), seen(), NOW)
        again = decide(job(plan.status, **wishes), seen(), NOW)

        assert Signal(HANDLE, "USR1") == plan.action
        assert plan.status.warned_at is not None
        assert again.action is None


def test_a_suspension_is_not_called_a_cancellation():
    """The person sees that a new attempt may follow."""
    suspended = decide(job(outside(), suspend=True), seen(), NOW)
    cancelled = decide(job(outside(), cancel=True), seen(), NOW)

    assert (Reason.STOPPING, Reason.CANCELLING) == (suspended.status.reason, cancelled.status.reason)
