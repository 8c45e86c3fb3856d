"""A job that is many tasks, of which the manager tells counts."""

import pytest

from bascule.decide import Cancel, decide
from bascule.model import Array, Phase, Reason, Report, Retry, Stop, StopCause, Tasks
from tests.decide.stories import NOW, ago, job, outside, seen

HALF = Tasks(total=10, succeeded=4, failed=1, running=3, failed_indices="2")
WHOLE = Tasks(total=10, succeeded=9, failed=1, failed_indices="2")
LESS_ONE = Tasks(total=10, succeeded=9, cancelled=1)


def ended(phase, tasks, **said):
    """What a manager says of an array that is over."""
    return Report(phase, state=str(phase).upper(), explanation=tasks.summary, tasks=tasks, **said)


def told(news, status=None, **fields):
    """What follows *news* about an array that lives outside."""
    wanted = job(status or outside(), array=Array("0-9"), **fields)
    return decide(wanted, seen(news=news), NOW)


def test_counts_are_taken_over_while_it_runs():
    plan = told(Report(Phase.RUNNING, state="RUNNING", explanation=HALF.summary, tasks=HALF))

    assert (Phase.RUNNING, HALF) == (plan.status.phase, plan.status.tasks)
    assert "5 of 10 done, 1 failed (2), 3 running" == plan.status.message


def test_counts_stay_where_a_word_is_not_known():
    status = told(Report(None, state="ODD"), outside(tasks=HALF)).status

    assert (Phase.RUNNING, HALF) == (status.phase, status.tasks)


def test_a_failed_task_ends_nothing_while_others_run():
    plan = told(Report(Phase.RUNNING, tasks=HALF), retry=Retry(3, (Reason.EXIT_CODE,)))

    assert plan.status.phase is Phase.RUNNING
    assert not isinstance(plan.action, Cancel)


def test_the_last_counts_are_kept():
    status = told(ended(Phase.FAILED, WHOLE, reason="ExitCode"), outside(tasks=HALF)).status

    assert (Phase.FAILED, "ExitCode", WHOLE) == (status.phase, status.reason, status.tasks)
    assert "10 of 10 done, 1 failed (2)" == status.message


@pytest.mark.parametrize("said", [{"exit_code": 3}, {"signal": 9}, {"exit_code": 0}])
def test_an_array_has_no_exit_code(said):
    """One number for many would be that of an arbitrary task."""
    status = told(ended(Phase.FAILED, WHOLE, reason="ExitCode", **said)).status

    assert (None, None) == (status.exit_code, status.signal)


def test_another_attempt_is_of_the_whole():
    plan = told(ended(Phase.FAILED, WHOLE, reason="NodeFailed"), outside(tasks=HALF), retry=Retry(1))

    assert (Phase.PENDING, 2, None) == (plan.status.phase, plan.status.attempt, plan.status.tasks)
    assert WHOLE == plan.status.attempts[-1].tasks


def test_a_task_that_somebody_cancelled_is_not_our_doing():
    """The rest ran to its end; nobody asked for the end of the job."""
    status = told(ended(Phase.CANCELLED, LESS_ONE), retry=Retry(3)).status

    assert (Phase.CANCELLED, LESS_ONE) == (status.phase, status.tasks)
    assert "10 of 10 done, 1 cancelled" == status.message
    assert status.stop is None


def test_a_task_that_somebody_cancelled_does_not_stop_the_others():
    plan = told(Report(Phase.RUNNING, tasks=Tasks(total=10, succeeded=4, cancelled=1, running=5)))

    assert plan.status.phase is Phase.RUNNING
    assert plan.action is None
    assert plan.status.stop is None


class TestStopped:
    def test_what_was_cancelled_keeps_its_counts(self):
        stop = Stop(StopCause.CANCEL, since=ago(minutes=1), asked_at=ago(minutes=1), tries=1)
        some = Tasks(total=10, succeeded=4, cancelled=6)

        status = told(ended(Phase.CANCELLED, some), outside(stop=stop), cancel=True).status

        assert (Phase.CANCELLED, "cancelled as asked", some) == (status.phase, status.message, status.tasks)

    def test_success_of_every_task_is_success(self):
        stop = Stop(StopCause.CANCEL, since=ago(minutes=1), asked_at=ago(minutes=1), tries=1)
        every = Tasks(total=10, succeeded=10)

        assert Phase.SUCCEEDED == told(ended(Phase.SUCCEEDED, every), outside(stop=stop), cancel=True).status.phase

    def test_a_suspended_array_starts_all_over(self):
        stop = Stop(StopCause.SUSPEND, since=ago(minutes=1), asked_at=ago(minutes=1), tries=1)
        some = Tasks(total=10, succeeded=4, cancelled=6)

        status = told(ended(Phase.CANCELLED, some), outside(stop=stop), suspend=True).status

        assert (Phase.PENDING, 2, None) == (status.phase, status.attempt, status.tasks)


class TestWords:
    @pytest.mark.parametrize(
        ("tasks", "words"),
        [
            (Tasks(total=3), "0 of 3 done"),
            (Tasks(total=3, running=2), "0 of 3 done, 2 running"),
            (WHOLE, "10 of 10 done, 1 failed (2)"),
            (LESS_ONE, "10 of 10 done, 1 cancelled"),
        ],
    )
    def test_how_it_stands(self, tasks, words):
        assert words == tasks.summary

    def test_a_long_list_is_shortened_at_a_comma(self):
        listed = ",".join(str(number) for number in range(100, 200, 2))

        words = Tasks(total=100, failed=50, failed_indices=listed).summary

        assert words.endswith(",...)")
        assert 100 > len(words)
