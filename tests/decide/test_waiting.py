"""Before an attempt goes outside."""

import pytest
from msgspec.structs import replace

from bascule.decide import Find, Submit, decide
from bascule.model import After, Deadlines, Duration, JobStatus, Phase, Reason
from tests.decide.stories import NOW, RAY_LIKE, ago, job, seen


class TestIntent:
    def test_the_intent_is_in_the_plan_that_submits(self):
        """It is saved first, since a plan's status is saved before its action."""
        plan = decide(job(), seen(), NOW)

        assert isinstance(plan.action, Submit)
        assert plan.status.intent is not None
        assert plan.action.key == plan.status.key

    def test_a_manager_that_picks_ids_gets_the_job_held(self):
        """Nothing runs before its id is on record."""
        assert decide(job(), seen(), NOW).action.held
        assert not decide(job(), seen(RAY_LIKE), NOW).action.held

    def test_the_key_names_the_attempt(self):
        """The same attempt has the same key in every process."""
        first = decide(job(), seen(), NOW).status.key
        second = decide(job(JobStatus(attempt=2)), seen(), NOW).status.key

        assert first.endswith("-1")
        assert second == first[:-1] + "2"

    def test_an_object_older_than_the_store_is_looked_up_first(self):
        """A restored copy may have been submitted after the backup."""
        plan = decide(job(), seen(distrusts_before=ago(minutes=1)), NOW)

        assert isinstance(plan.action, Find)

    def test_an_object_older_than_the_store_does_not_time_out_before_it_is_looked_up(self):
        """Else it is over, and its outside job runs on."""
        waiting = JobStatus(queued_since=ago(minutes=30))
        restored = job(waiting, deadlines=Deadlines(queued=Duration(minutes=10)))

        plan = decide(restored, seen(distrusts_before=ago(minutes=1)), NOW)
        full = decide(restored, seen(distrusts_before=ago(minutes=1), has_room=False), NOW)

        assert isinstance(plan.action, Find)
        assert full.look_again_in > 60

    def test_a_deleted_object_older_than_the_store_is_looked_up_too(self):
        """Else its outside job would run on."""
        plan = decide(job(deleted_at=NOW), seen(distrusts_before=ago(minutes=1)), NOW)

        assert isinstance(plan.action, Find)
        assert not plan.remove


class TestGates:
    @pytest.mark.parametrize(
        ("facts", "reason"),
        [
            ({"target_exists": False}, Reason.TARGET_NOT_FOUND),
            ({"problem": "`options.acount` is unknown"}, Reason.NOT_ACCEPTED),
            ({"reachable": False}, Reason.TARGET_UNREACHABLE),
            ({"has_room": False}, Reason.TARGET_FULL),
        ],
    )
    def test_what_the_target_cannot_take_waits_and_says_why(self, facts, reason):
        plan = decide(job(), seen(**facts), NOW)

        assert (Phase.PENDING, reason, None) == (plan.status.phase, plan.status.reason, plan.action)

    def test_suspended_waits(self):
        plan = decide(job(suspend=True), seen(), NOW)

        assert Reason.SUSPENDED == plan.status.reason
        assert plan.action is None

    def test_cancelled_before_its_submit_ends_at_once(self):
        """Also while something holds it back."""
        plan = decide(job(cancel=True, suspend=True), seen(reachable=False), NOW)

        assert Phase.CANCELLED == plan.status.phase

    def test_deleted_before_its_submit_goes_at_once(self):
        assert decide(job(deleted_at=NOW), seen(), NOW).remove

    def test_a_retry_waits_its_time(self):
        status = JobStatus(attempt=2, reason=Reason.RETRYING, not_before=replace_seconds(30))

        plan = decide(job(status), seen(), NOW)

        assert plan.action is None
        assert 30 == plan.look_again_in

    def test_not_accepted_is_a_condition(self):
        """A person or `kubectl wait` sees at once that it cannot go on."""
        plan = decide(job(), seen(problem="no such option"), NOW)

        accepted = next(one for one in plan.status.conditions if one.type == "Accepted")
        assert ("False", "no such option") == (accepted.status, accepted.message)

    def test_the_queued_deadline_counts_from_when_nothing_of_its_own_holds_it_back(self):
        limits = Deadlines(queued=Duration.parse("1h"))
        waiting = JobStatus(queued_since=ago(hours=2))

        late = decide(job(waiting, deadlines=limits), seen(reachable=False), NOW)
        suspended = decide(job(waiting, deadlines=limits, suspend=True), seen(), NOW)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (late.status.phase, late.status.reason)
        assert suspended.status.queued_since is None


class TestAfter:
    @pytest.mark.parametrize("phase", [None, Phase.PENDING, Phase.RUNNING, Phase.UNKNOWN])
    def test_an_unfinished_predecessor_is_waited_for(self, phase):
        plan = decide(job(after=(After("prepare"),)), seen(predecessors={"prepare": phase}), NOW)

        assert Reason.WAITING_FOR_JOB == plan.status.reason
        assert plan.action is None

    @pytest.mark.parametrize(
        ("when", "phase", "goes"),
        [
            ("Succeeded", Phase.SUCCEEDED, True),
            ("Succeeded", Phase.FAILED, False),
            ("Succeeded", Phase.CANCELLED, False),
            ("Failed", Phase.FAILED, True),
            ("Failed", Phase.SUCCEEDED, False),
            ("Finished", Phase.FAILED, True),
            ("Finished", Phase.CANCELLED, True),
        ],
    )
    def test_a_finished_predecessor_lets_go_or_fails(self, when, phase, goes):
        plan = decide(job(after=(After("prepare", when),)), seen(predecessors={"prepare": phase}), NOW)

        assert goes == isinstance(plan.action, Submit)
        assert goes or plan.status.reason == Reason.DEPENDENCY_NOT_MET


def replace_seconds(seconds):
    """The moment that many seconds after `NOW`."""
    return ago(seconds=-seconds)


def test_the_same_facts_give_the_same_plan_twice():
    """A second look changes nothing: nothing is written when nothing moved."""
    first = decide(job(), seen(has_room=False), NOW)
    again = decide(replace(job(), status=first.status), seen(has_room=False), ago(minutes=-5))

    assert first.status == again.status


def test_what_a_restored_copy_may_have_done_is_asked_for():
    """A job that was submitted held can have been released and have ended since the backup."""
    plan = decide(job(), seen(distrusts_before=ago(minutes=1)), NOW)
    later = decide(replace(job(), status=plan.status), seen(), NOW)

    assert plan.action.may_have_run
    assert later.action.may_have_run
