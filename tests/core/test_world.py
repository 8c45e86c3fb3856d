"""The simplest life there is, for every kind of manager."""

import pytest

from bascule.model import Phase
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.kinds import KINDS
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_is_submitted_once_watched_and_succeeds(kind):
    async with World(KINDS[kind]) as world:
        await world.submit()

        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        assert 0 == world.status().exit_code
        assert 1 == len(world.outside_jobs())
        world.ledger.assert_sound()


async def test_a_job_at_rest_costs_few_requests():
    """
    Asking the manager is what users' administrators complain about.
    """
    async with World() as world:
        world.outside.course = Course(runs_for=3600.0)
        await world.submit()

        await world.settle()

        assert world.requests["observe"] < 3600 / 10 * 1.2
        assert 1 == world.requests["submit"]
