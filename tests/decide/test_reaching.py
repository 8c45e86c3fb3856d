"""A target that was given another address, and a record that was lost: what is asked there, and what it is worth."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bascule.decide import Cancel, Find, Forget, Happened, Release, Submit, decide
from bascule.model import Absent, Adopt, CannotTell, Found, Handle, JobStatus, Match, Phase, Reason, Report, Retry
from tests.decide.stories import KEY, NOW, ago, intended, job, outside, seen

HERE, THERE = "aaaaaaaaaaaa", "bbbbbbbbbbbb"
RUNNING = Report(Phase.RUNNING, state="RUNNING", explanation="running on n1", started_at=ago(minutes=10))
GONE = Absent("no such job", NOW)
DOUBTFUL = JobStatus(attempt=2, is_doubtful=True)


def found_out(status, result, *, key=KEY, **fields):
    """What follows when the search for *key* has brought *result*."""
    happened = Happened(Find(key, since=ago(hours=1)), result)
    return decide(job(status, **fields), seen(happened=happened, address=THERE), NOW)


class TestAnotherAddress:
    def test_a_submit_notes_where_it_goes(self):
        assert HERE == decide(job(), seen(address=HERE), NOW).status.address

    @pytest.mark.parametrize("news", [GONE, CannotTell("no")])
    def test_what_is_not_found_there_is_no_end(self, news):
        status = outside(asked_at=ago(hours=1), address=HERE)

        plan = decide(job(status, retry=Retry(limit=2, reasons=("Lost",))), seen(news=news, address=THERE), NOW)

        assert (Phase.UNKNOWN, Reason.CANNOT_TELL) == (plan.status.phase, plan.status.reason)
        assert "another address" in plan.status.message
        assert plan.action is None

    def test_what_bears_the_key_there_is_the_job(self):
        plan = decide(job(outside(address=HERE)), seen(news=RUNNING, address=THERE), NOW)

        assert (Phase.RUNNING, THERE) == (plan.status.phase, plan.status.address)

    def test_what_was_adopted_by_its_id_alone_is_not(self):
        """Another cluster gives the same ids."""
        status = replace(outside(address=HERE), handle=Handle("4711"))

        plan = decide(job(status, adopt=Adopt("4711")), seen(news=RUNNING, address=THERE), NOW)

        assert HERE == plan.status.address
        assert Phase.UNKNOWN is plan.status.phase

    def test_nothing_is_asked_about_its_id_there(self):
        for status in (outside(address=HERE), outside(released=False, address=HERE)):
            for wish in ({"cancel": True}, {"hold": True}, {}):
                assert decide(job(status, **wish), seen(address=THERE), NOW).action is None
        assert isinstance(decide(job(outside(address=HERE), cancel=True), seen(address=HERE), NOW).action, Cancel)
        assert isinstance(decide(job(outside(released=False)), seen(address=THERE), NOW).action, Release)

    def test_a_deleted_one_says_how_to_let_go(self):
        status = outside(phase=Phase.UNKNOWN, address=HERE)

        plan = decide(replace(job(status), deleted_at=NOW), seen(address=THERE), NOW)

        assert "bascule.dev/abandon=true" in plan.status.message
        assert not plan.remove

    def test_a_submit_that_is_in_doubt_is_not_made_there(self):
        plan = found_out(intended(asked_at=ago(hours=1), address=HERE), GONE)

        assert Phase.UNKNOWN is plan.status.phase
        assert plan.action is None

    def test_what_is_over_is_not_cleared_away_there(self):
        status = replace(outside(address=HERE), phase=Phase.SUCCEEDED, finished_at=NOW)
        deleted = replace(job(status), deleted_at=NOW)

        assert decide(deleted, seen(address=THERE), NOW).remove
        assert isinstance(decide(deleted, seen(address=HERE), NOW).action, Forget)


class TestLostRecords:
    def test_the_job_is_looked_for_before_anything(self):
        plan = decide(job(DOUBTFUL), seen(), NOW)

        assert isinstance(plan.action, Find)
        assert plan.action.may_have_run
        assert plan.action.key.endswith("-2")

    def test_so_are_its_earlier_attempts(self):
        first = decide(job(DOUBTFUL), seen(), NOW)

        second = found_out(first.status, GONE, key=first.status.key)
        third = found_out(second.status, GONE, key=second.status.key)

        assert isinstance(second.action, Find)
        assert second.action.key.endswith("-1")
        assert isinstance(third.action, Submit)
        assert third.action.key.endswith("-2")
        assert third.action.key == third.status.key

    def test_what_is_found_is_adopted(self):
        first = decide(job(DOUBTFUL), seen(), NOW)
        second = found_out(first.status, GONE, key=first.status.key)

        handle = Handle("4711", second.status.key)
        plan = found_out(second.status, Found((Match(handle, RUNNING, held=False),)), key=handle.key)

        assert (handle, THERE, 2) == (plan.status.handle, plan.status.address, plan.status.attempt)

    @pytest.mark.parametrize("wish", [{"cancel": True}, {}])
    def test_one_that_is_not_wanted_any_more_is_looked_for_too(self, wish):
        plan = decide(replace(job(DOUBTFUL, **wish), deleted_at=NOW), seen(), NOW)

        assert isinstance(plan.action, Find)

    def test_one_that_cannot_be_looked_for_says_how_to_let_go(self):
        deleted = replace(job(DOUBTFUL), deleted_at=NOW)

        plan = decide(deleted, replace(seen(), abilities=None, target_exists=False, problem="no target"), NOW)

        assert "bascule.dev/abandon=true" in plan.status.message
        assert plan.status.is_doubtful
