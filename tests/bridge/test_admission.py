"""What the bridge lets in."""

import pytest

from bascule.bridge.admission import refuse_circle
from bascule.errors import Mistake
from bascule.model import After, Job, JobSpec, JobStatus, Phase, TargetRef
from tests.virtual import run_virtual


def waiting_for(name, *others, phase=Phase.PENDING):
    spec = JobSpec(target=TargetRef("hpc"), after=tuple(After(other) for other in others))
    return Job("default", name, "", spec, JobStatus(phase=phase))


class Shelf:
    """A front that holds jobs."""

    def __init__(self, *jobs):
        self.jobs = {job.ref: job for job in jobs}

    async def get(self, ref):
        return self.jobs.get(ref)


class TestCircles:
    def test_jobs_that_wait_for_each_other_are_refused(self):
        """They would wait for ever, each silently."""
        shelf = Shelf(waiting_for("b", "c"), waiting_for("c", "a"))

        with pytest.raises(Mistake, match="`a` after `b` after `c` after `a`"):
            run_virtual(refuse_circle(shelf, waiting_for("a", "b")))

    def test_two_ways_to_one_job_are_no_circle(self):
        shelf = Shelf(waiting_for("b", "d"), waiting_for("c", "d"), waiting_for("d"))

        run_virtual(refuse_circle(shelf, waiting_for("a", "b", "c")))

    def test_what_is_over_waits_for_nothing(self):
        shelf = Shelf(waiting_for("b", "a", phase=Phase.SUCCEEDED))

        run_virtual(refuse_circle(shelf, waiting_for("a", "b")))
