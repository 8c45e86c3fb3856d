"""The judge sees what it is there to see."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bascule.model import Attempt, Job, JobSpec, JobStatus, Phase, TargetRef
from tests.chaos.harness import failpoints
from tests.chaos.judge import judge, lines_of
from tests.testbed.slurm_records import JobRecord

GOOD = "train-1 7 began\ntrain-1 7 ended\n"


def job(phase=Phase.SUCCEEDED, *, cancel=False, key="train-1", earlier=()):
    attempts = tuple(Attempt(n, other) for n, other in enumerate(earlier, start=1))
    status = JobStatus(phase=phase, key=key, attempts=attempts)
    return Job("default", "train", "u", JobSpec(target=TargetRef("hpc"), cancel=cancel), status)


def record(state):
    return JobRecord("7", "train-1", "labuser", state, 0, 0, "", "", "", "n1")


def faults(jobs, text, records=(), **how):
    return judge(jobs, lines_of(text), records, **how).faults


def test_a_good_run():
    assert [] == faults([job()], GOOD, [record("COMPLETED")])
    assert [] == faults([job(Phase.CANCELLED, cancel=True)], "", [record("CANCELLED by 0")])
    assert [] == faults([job(key="train-2", earlier=["train-1"])], GOOD + "train-2 9 began\ntrain-2 9 ended\n")


@pytest.mark.parametrize("forgetful", [False, True])
def test_one_attempt_under_two_ids(forgetful):
    assert ["`train-1` ran under 2 ids: 7, 8"] == faults([job()], GOOD + "train-1 8 began\n", forgetful=forgetful)


def test_one_id_twice_is_slurms_own_doing_where_it_forgot():
    twice = judge([job()], lines_of(GOOD * 2), [], forgetful=True)

    assert ([], 1) == (twice.faults, len(twice.excused))
    assert 1 == len(faults([job()], GOOD * 2))


def test_what_slurm_calls_running_for_ever_after_it_was_killed_is_not_lost():
    running = job(Phase.RUNNING)
    running = replace(running, status=replace(running.status, id="7"))

    assert [] == faults([running], GOOD, [record("RUNNING")], forgetful=True)
    assert 2 == len(faults([running], GOOD, [record("RUNNING")]))
    assert 1 == len(
        faults([replace(running, status=replace(running.status, id="8"))], GOOD, [record("RUNNING")], forgetful=True)
    )


def test_what_slurm_forgot_when_it_was_killed_is_not_lost_where_that_is_said():
    unknown = job(Phase.UNKNOWN)
    unknown = replace(unknown, status=replace(unknown.status, id="7"))
    began = "train-1 7 began\n"

    assert [] == faults([unknown], began, forgetful=True)
    assert 1 == len(faults([unknown], began)), "it was not killed"
    assert 1 == len(faults([unknown], GOOD, forgetful=True)), "its end can be told"
    assert 1 == len(faults([unknown], began, [record("COMPLETED")], forgetful=True)), "Slurm knows it"


@pytest.mark.parametrize(
    ("jobs", "text", "records"),
    [
        ([job(Phase.RUNNING)], GOOD, []),
        ([job(Phase.FAILED)], GOOD, []),
        ([job(Phase.CANCELLED)], "", []),
        ([job()], "train-1 7 began\n", []),
        ([job()], GOOD + "other-1 8 began\n", []),
        ([job()], GOOD, [record("PENDING")]),
        ([job()], GOOD, [record("RUNNING")]),
    ],
    ids=["still running", "failed", "cancelled by nobody", "never ended", "a stranger", "held", "runs on"],
)
def test_each_fault_is_one(jobs, text, records):
    assert 1 == len(faults(jobs, text, records))


def test_the_failpoints_are_those_of_the_code():
    assert {"core.saved", "store.commit", "store.committed", "core.after.submit"} <= set(failpoints())
