"""The verdict over what was found of a job that is over."""

import signal

import pytest

from bascule.managers.local.judging import Evidence, judge, named, source_of
from bascule.managers.local.records import CANCEL, LEFTOVERS, WALLTIME, Result
from bascule.model import Phase, Reason, Source

KILLED = Result(137, said=True)


@pytest.mark.parametrize("result", [Result(0, said=False), Result(3, said=False), KILLED, None])
def test_what_was_cancelled_is_cancelled_whatever_it_made_of_it(result):
    assert Phase.CANCELLED is judge(Evidence(result, cause=CANCEL, kills=1)).phase


@pytest.mark.parametrize("result", [Result(0, said=False), Result(143, said=True), None])
def test_what_was_ended_at_its_walltime_timed_out(result):
    end = judge(Evidence(result, cause=WALLTIME, walltime=5400.0))

    assert (Phase.FAILED, Reason.TIMED_OUT) == (end.phase, end.reason)
    assert "1h30m" in end.explanation


def test_ending_what_a_job_left_behind_does_not_touch_its_result():
    assert Phase.SUCCEEDED is judge(Evidence(Result(0, said=False), cause=LEFTOVERS)).phase


def test_a_memory_kill_in_its_group_is_exact():
    end = judge(Evidence(KILLED, kills=1, limited=True))

    assert (Reason.OUT_OF_MEMORY, Source.MARKER) == (end.reason, source_of(end))


def test_a_memory_kill_on_the_machine_is_inferred():
    end = judge(Evidence(KILLED, kills_around=1))

    assert (Reason.OUT_OF_MEMORY, 9, Source.INFERRED) == (end.reason, end.signal, source_of(end))


def test_where_a_group_counts_its_own_kills_those_of_others_say_nothing():
    assert Reason.SIGNAL == judge(Evidence(KILLED, kills_around=1, counted=True)).reason


def test_a_job_that_coped_with_a_killed_child_succeeded():
    assert Phase.SUCCEEDED is judge(Evidence(Result(0, said=False), kills=1)).phase


def test_a_memory_kill_elsewhere_is_no_reason_for_an_exit_code():
    assert Reason.EXIT_CODE == judge(Evidence(Result(1, said=False), kills_around=1)).reason


@pytest.mark.parametrize(("failed", "words"), [(126, "not executable"), (127, "not found"), (2, "could not run it")])
def test_what_could_not_be_executed_failed_to_start(failed, words):
    end = judge(Evidence(Result(failed, said=False), failed=failed))

    assert Reason.START_FAILED == end.reason
    assert words in end.explanation


def test_without_a_result_what_we_saw_ourselves_counts():
    assert 9 == judge(Evidence(status=signal.SIGKILL)).signal
    assert 3 == judge(Evidence(status=3 << 8)).exit_code


def test_without_any_trace_a_job_is_lost():
    assert Reason.LOST == judge(Evidence()).reason
    assert "restarted" in judge(Evidence(restarted=True)).explanation
    assert Reason.START_FAILED == judge(Evidence(began=False)).reason


def test_signals_without_a_name_have_a_number():
    assert "SIGTERM (15)" == named(15)
    assert "signal 33" == named(33)
