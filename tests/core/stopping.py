"""How tests stop a job, and what they look at afterwards."""

import pytest

from bascule.model import Phase
from tests.fakes.course import Course

LONG = Course(runs_for=86400.0)
WAYS = pytest.mark.parametrize("way", ["cancel", "delete"])


async def stop(world, way):
    """Ask for the end of the job, as people do."""
    await (world.delete() if way == "delete" else world.change(cancel=True))


async def ended(world, way):
    """Wait until the job is over, or gone where it was deleted."""
    await (world.gone() if way == "delete" else world.until_phase(Phase.CANCELLED))


def alive(world):
    """Return the outside jobs that have not ended."""
    return [job for job in world.outside_jobs() if job.ended is None]
