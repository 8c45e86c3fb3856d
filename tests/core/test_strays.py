"""Which jobs outside are nobody's, and may be removed."""

from bascule.model import Handle, JobStatus, Phase, Stray
from bascule.sweeper import is_orphan
from tests.decide.stories import KEY, job, outside

LATER = KEY[:-1] + "2"


def test_a_later_attempt_than_is_on_record_is_removed_when_the_job_is_over():
    """
    It is of a time before a backup was restored, and nobody will release it.
    """
    stray = Stray(LATER, Handle("4712", LATER), held=True)

    assert is_orphan(stray, job(JobStatus(phase=Phase.CANCELLED, attempt=1, key=KEY)))
    assert not is_orphan(stray, job(outside()))


def test_what_runs_under_another_attempt_is_left_alone():
    stray = Stray(LATER, Handle("4712", LATER), held=False)

    assert not is_orphan(stray, job(JobStatus(phase=Phase.CANCELLED, attempt=1, key=KEY)))
