"""A job that is over."""

from bascule.decide import Done, Forget, Happened, decide
from bascule.model import Duration, Phase, Reason, Report
from tests.decide.stories import NOW, ago, job, outside, seen


def over(**status):
    """The status of a job that succeeded a while ago."""
    return outside(Phase.SUCCEEDED, finished_at=ago(minutes=20), **status)


def test_a_final_phase_is_never_left():
    """Whatever the manager or the user says afterwards."""
    for wish in ({"cancel": True}, {"suspend": True}, {"hold": True}):
        plan = decide(job(over(), **wish), seen(news=Report(Phase.FAILED)), NOW)

        assert Phase.SUCCEEDED == plan.status.phase
        assert plan.action is None


def test_a_deleted_job_is_cleared_away_then_removed():
    first = decide(job(over(), deleted_at=NOW), seen(), NOW)
    second = decide(job(first.status, deleted_at=NOW), seen(happened=Happened(first.action, Done())), NOW)

    assert isinstance(first.action, Forget)
    assert second.remove


def test_its_time_is_kept():
    plan = decide(job(over(), ttl_after_finished=Duration.parse("30m")), seen(), NOW)

    assert 600 == plan.look_again_in
    assert not plan.remove


def test_past_its_time_it_goes():
    plan = decide(job(over(), ttl_after_finished=Duration.parse("10m")), seen(), NOW)

    assert isinstance(plan.action, Forget)


def test_an_adopted_job_is_not_cleared_away_by_us():
    from bascule.model import Adopt

    assert decide(job(over(), adopt=Adopt("4711"), deleted_at=NOW), seen(), NOW).remove


def test_complete_is_true_only_for_success():
    """`Failed` is for any other end, so that waiting means what it says."""
    won = decide(job(outside()), seen(news=Report(Phase.SUCCEEDED, state="COMPLETED")), NOW).status
    gone = decide(job(outside()), seen(news=Report(Phase.CANCELLED, state="CANCELLED")), NOW).status

    assert {"Complete": "True", "Failed": "False"} == _ends(won)
    assert {"Complete": "False", "Failed": "True"} == _ends(gone)
    assert Reason.NONE == won.reason


def _ends(status):
    return {one.type: one.status for one in status.conditions if one.type in ("Complete", "Failed")}
