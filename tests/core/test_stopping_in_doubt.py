"""
A cancel while nobody knows whether the submit happened: what may run is looked for first.
"""

import pytest

from bascule.model import Phase
from tests.core.stopping import LONG, WAYS, alive, ended, stop
from tests.core.world import World
from tests.fakes.faults import REPLY_LOST, REQUEST_LOST, late
from tests.fakes.kinds import BLIND, CHOSEN, FORGETFUL, HELD
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop

SEARCHABLE = pytest.mark.parametrize("abilities", [CHOSEN, HELD, FORGETFUL], ids=["chosen", "held", "forgetful"])


async def is_stopped_while_in_doubt(world, doubt, way):
    """Stop a job of whose submit nobody knows what became, and let an hour pass."""
    world.outside.course = LONG
    world.faults.next("submit", doubt)
    await world.submit()
    await world.until(lambda: world.status().intent is not None)
    await world.pass_time(10)
    await stop(world, way)
    await ended(world, way)
    await world.pass_time(3600)


@WAYS
@SEARCHABLE
@pytest.mark.parametrize("doubt", [REQUEST_LOST, REPLY_LOST, late(15)], ids=lambda fault: fault.kind)
async def test_a_cancel_while_the_submit_is_in_doubt_leaves_nothing_running(abilities, doubt, way):
    """
    What may have been submitted is looked for, and ended, before the cancel counts as done.
    """
    async with World(abilities) as world:
        await is_stopped_while_in_doubt(world, doubt, way)

        assert not [job for job in alive(world) if not job.held]


@WAYS
@pytest.mark.parametrize("abilities", [HELD, FORGETFUL], ids=["held", "forgetful"])
@pytest.mark.parametrize("seconds", [31, 100, 1000])
async def test_where_jobs_are_held_no_submit_comes_too_late_for_a_cancel(abilities, seconds, way):
    async with World(abilities) as world:
        await is_stopped_while_in_doubt(world, late(seconds), way)

        assert not [job for job in alive(world) if not job.held]


@WAYS
async def test_a_submit_may_take_its_settling_time_after_the_time_out(way):
    """
    An absence proves something once the manager has had its time since we gave up, which was after 30 seconds.
    """
    async with World(CHOSEN) as world:
        await is_stopped_while_in_doubt(world, late(33), way)

        assert not alive(world)


@WAYS
async def test_a_cancel_of_a_doubt_that_nobody_can_settle_does_not_claim_success(way):
    """
    Neither key nor history: the job may run, and only an explicit word lets go of it.
    """
    async with World(BLIND) as world:
        world.faults.next("submit", REPLY_LOST)
        await world.submit()
        await world.until_phase(Phase.UNKNOWN)

        await stop(world, way)
        await world.pass_time(3600)

        assert Phase.UNKNOWN is world.phase_of()
