"""What the sweeper takes for an orphan: certainly ours, and certainly not the job of a living attempt."""

import pytest

from bascule.model import Handle, Job, JobSpec, JobStatus, Phase, Stray, TargetRef
from bascule.sweeper import is_orphan

FIRST, SECOND = "train-tests2-eeeeeeee-1", "train-tests2-eeeeeeee-2"


def job(phase, *, key=FIRST, outside="7"):
    handle = Handle(outside, key) if outside else None
    status = JobStatus(phase=phase, attempt=int(key[-1]), key=key, id=outside, handle=handle)
    return Job("default", "train", "u", JobSpec(TargetRef("hpc")), status)


def stray(*, key=FIRST, number="7", held=True):
    return Stray(key, Handle(number, key), held)


@pytest.mark.parametrize("phase", [Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED])
def test_what_is_held_of_a_job_that_is_over_goes(phase):
    """
    A manager that came back from before the job ran holds it again.
    """
    assert is_orphan(stray(), job(phase))


@pytest.mark.parametrize("phase", [Phase.SUBMITTING, Phase.HELD, Phase.RUNNING, Phase.UNKNOWN])
def test_the_job_of_a_living_attempt_stays(phase):
    assert not is_orphan(stray(), job(phase))


def test_what_is_not_held_stays_though_its_object_is_over():
    """
    The manager runs by itself what it took up again: that is for its own records.
    """
    assert not is_orphan(stray(held=False), job(Phase.SUCCEEDED))


def test_a_held_twin_of_a_known_job_goes():
    assert is_orphan(stray(number="8"), job(Phase.RUNNING))


def test_a_held_job_of_an_earlier_attempt_goes():
    assert is_orphan(stray(), job(Phase.RUNNING, key=SECOND, outside="9"))
    assert not is_orphan(stray(held=False), job(Phase.RUNNING, key=SECOND, outside="9"))


def test_one_that_arrived_after_its_object_ended_without_it_goes():
    assert is_orphan(stray(held=False), job(Phase.FAILED, outside=""))
    assert not is_orphan(stray(held=False), job(Phase.SUBMITTING, outside=""))


def test_nothing_goes_of_a_job_whose_record_was_lost():
    """
    Its attempt's number may be made up, and what looks like an earlier attempt's may be its own.
    """
    lost = Job("default", "train", "u", JobSpec(TargetRef("hpc")), JobStatus(attempt=2, is_doubtful=True))

    assert not is_orphan(stray(), lost)
