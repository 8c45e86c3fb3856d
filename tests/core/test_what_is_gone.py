"""
Problem: a finished job is purged before the poll, and then runs for ever, or is wrongly done or failed.
"""

import pytest

from bascule.model import Deadlines, Duration, Phase, Reason, Source
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.kinds import BLIND, CHOSEN, FORGETFUL, HELD
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop

LONG = Course(runs_for=5400.0)


async def ends_and_is_purged_unseen(world, **spec):
    """Let a job end and be forgotten by the live view while nobody could look."""
    world.outside.course = Course(exit_code=3)
    await world.submit(**spec)
    await world.until_phase(Phase.RUNNING)
    world.outside.is_down = True
    await world.pass_time(world.outside.keeps_for)
    for job in world.outside_jobs():
        world.outside.purge(job)
    world.outside.is_down = False


async def test_a_purged_job_keeps_its_result_where_there_is_a_history():
    async with World(HELD) as world:
        await ends_and_is_purged_unseen(world)

        await world.settle()

        status = world.status()
        assert (Phase.FAILED, 3, Source.HISTORY) == (status.phase, status.exit_code, status.observed_by)


async def test_a_history_that_does_not_answer_leaves_the_job_unknown_until_it_does():
    async with World(HELD) as world:
        world.outside.history_is_down = True
        await ends_and_is_purged_unseen(world)
        await world.until_phase(Phase.UNKNOWN)
        why = world.status().message

        world.outside.history_is_down = False
        await world.settle()

        assert "history" in why
        assert (Phase.FAILED, 3) == (world.phase_of(), world.status().exit_code)


@pytest.mark.parametrize("abilities", [FORGETFUL, BLIND], ids=["forgetful", "blind"])
async def test_a_purged_job_without_a_history_is_neither_success_nor_failure(abilities):
    """
    Nobody knows how it ended: Unknown says so, for as long as it takes.
    """
    async with World(abilities) as world:
        await ends_and_is_purged_unseen(world)

        await world.until_phase(Phase.UNKNOWN)
        await world.pass_time(7200)

        assert (Phase.UNKNOWN, Reason.CANNOT_TELL) == (world.phase_of(), world.status().reason)


async def test_an_unknown_job_is_lost_when_its_deadline_runs_out():
    async with World(FORGETFUL) as world:
        await ends_and_is_purged_unseen(world, deadlines=Deadlines(unknown=Duration(hours=1)))
        await world.until_phase(Phase.UNKNOWN)
        since = world.clock.now()

        await world.settle()

        assert (Phase.FAILED, Reason.LOST) == (world.phase_of(), world.status().reason)
        assert 3500 < (world.clock.now() - since).total_seconds() < 3700


async def test_a_job_that_nobody_can_tell_of_is_asked_for_at_the_pace_of_rest():
    """
    The same lack of news again is no news: it must not keep a whole target at its fastest pace.
    """
    async with World(FORGETFUL) as world:
        await ends_and_is_purged_unseen(world)
        await world.until_phase(Phase.UNKNOWN)
        before = world.requests["observe"]

        await world.pass_time(3600)

        assert world.requests["observe"] - before < 3600 / 10 * 1.2


async def test_a_job_that_its_manager_surely_no_longer_has_is_lost():
    """
    The head was restarted without its table: established loss is a failure with its own reason.
    """
    async with World(CHOSEN) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        await world.pass_time(60)

        world.outside.restart(forgets=1e6)
        await world.settle()

        assert (Phase.FAILED, Reason.LOST) == (world.phase_of(), world.status().reason)
        assert 1 == world.requests["submit"]


async def test_a_stranger_under_our_id_is_not_our_job():
    async with World(HELD) as world:
        world.outside.course = Course(exit_code=3)
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        world.outside.is_down = True
        await world.pass_time(60)
        stranger = world.outside.reuse(world.outside_jobs()[0])
        world.outside.is_down = False

        await world.settle()
        await world.change(cancel=True)
        await world.pass_time(600)

        assert (Phase.FAILED, 3) == (world.phase_of(), world.status().exit_code)
        assert "cancel" not in [entry.what for entry in world.ledger if entry.key == stranger.key]
