"""
The store fails, or somebody else drives it: no accepted intent is lost, and nothing runs twice.
"""

import pytest

from bascule.errors import StoreFailed
from bascule.model import Phase
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.kinds import CHOSEN, HELD
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop

FULL = StoreFailed("the disk is full")
SEARCHABLE = pytest.mark.parametrize("abilities", [CHOSEN, HELD], ids=["chosen", "held"])


@SEARCHABLE
async def test_without_a_store_nothing_is_submitted(abilities):
    """
    A submit needs its intent on record first.
    """
    async with World(abilities) as world:
        world.process.platform.fault = FULL
        await world.submit()
        await world.pass_time(3600)
        meanwhile = len(world.outside_jobs())

        world.process.platform.fault = None
        await world.settle()

        assert 0 == meanwhile
        assert Phase.SUCCEEDED is world.phase_of()


@SEARCHABLE
@pytest.mark.parametrize("moment", range(8))
async def test_a_disk_that_is_full_for_an_hour_costs_an_hour(abilities, moment):
    """
    From any moment of the submit on.
    """
    async with World(abilities) as world:
        await world.submit()
        await world.pass_time(0.008 * moment)
        world.process.platform.fault = FULL
        await world.pass_time(3600)
        world.process.platform.fault = None

        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        world.ledger.assert_sound()


async def test_a_fenced_process_ends_and_harms_nothing():
    async with World(HELD) as world:
        world.outside.course = Course(runs_for=600.0)
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        old = world.process

        world.start()
        await world.settle()
        await world.submit("another")
        await world.settle("another")
        await world.pass_time(60)

        assert old.was_fenced
        world.ledger.assert_sound()


async def test_nothing_is_written_while_nothing_moves():
    """
    A write per poll would be a write per job and ten seconds, for ever.
    """
    async with World(HELD) as world:
        world.outside.course = Course(runs_for=5000.0)
        for number in range(20):
            await world.submit(f"job{number}")
        await world.until(lambda: all(world.phase_of(f"job{number}") is Phase.RUNNING for number in range(20)))
        before = len(world.objects.changes)

        await world.pass_time(3600)

        assert before == len(world.objects.changes)


async def test_a_job_costs_few_writes():
    async with World(HELD) as world:
        await world.submit()

        await world.settle()

        (states,) = world.objects.states.values()
        assert len(states) <= 7
