"""
Problem: time limits. Ours and the manager's are two things, waiting and running are two more,
and nothing is implicit.
"""

import pytest

from bascule.model import Deadlines, Duration, Phase, Reason, Resources, Warn
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.kinds import CHOSEN, HELD, KINDS
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop

NEVER_STARTS = Course(starts_after=None)
LONG = Course(runs_for=86400.0)


@pytest.mark.parametrize("kind", KINDS)
async def test_without_limits_a_job_waits_and_runs_as_long_as_it_takes(kind):
    async with World(KINDS[kind]) as world:
        world.outside.course = Course(starts_after=5000.0, runs_for=5000.0)
        await world.submit()

        await world.settle(within=12000)

        assert Phase.SUCCEEDED is world.phase_of()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_waits_too_long_is_ended(kind):
    async with World(KINDS[kind]) as world:
        world.outside.course = NEVER_STARTS
        await world.submit(deadlines=Deadlines(queued=Duration(minutes=10)))

        await world.settle(within=660)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (world.phase_of(), world.status().reason)
        assert "deadlines.queued" in world.status().message
        assert ["CANCELLED"] == [job.state for job in world.outside_jobs()]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_that_runs_too_long_is_ended(kind):
    async with World(KINDS[kind]) as world:
        world.outside.course = LONG
        await world.submit(deadlines=Deadlines(running=Duration(minutes=10)))

        await world.settle(within=660)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (world.phase_of(), world.status().reason)
        assert ["CANCELLED"] == [job.state for job in world.outside_jobs()]


async def test_time_spent_waiting_does_not_count_as_running():
    async with World(HELD) as world:
        world.outside.course = Course(starts_after=3000.0, runs_for=500.0)
        await world.submit(deadlines=Deadlines(running=Duration(minutes=10), queued=Duration(hours=1)))

        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()


async def test_waiting_counts_from_the_first_wait_also_before_the_submit():
    """
    A target that is down is a wait like any other for whoever waits.
    """
    async with World(HELD) as world:
        world.outside.is_down = True
        await world.submit(deadlines=Deadlines(queued=Duration(minutes=10)))

        await world.settle(within=700)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (world.phase_of(), world.status().reason)
        assert not world.outside_jobs()


async def test_the_managers_own_walltime_is_the_managers():
    async with World(HELD) as world:
        world.outside.course = LONG
        await world.submit(resources=Resources(walltime=Duration(minutes=10)))

        await world.settle(within=660)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (world.phase_of(), world.status().reason)
        assert "TIMEOUT" == world.status().manager.state
        assert "cancel" not in world.requests


async def test_where_the_manager_has_no_walltime_we_keep_it():
    async with World(CHOSEN) as world:
        world.outside.course = LONG
        await world.submit(resources=Resources(walltime=Duration(minutes=10)))

        await world.settle(within=660)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (world.phase_of(), world.status().reason)
        assert 1 == world.requests["cancel"]


async def test_our_walltime_runs_on_through_a_crash():
    async with World(CHOSEN) as world:
        world.outside.course = LONG
        await world.submit(resources=Resources(walltime=Duration(minutes=10)))
        await world.until_phase(Phase.RUNNING)
        await world.pass_time(300)
        await world.crash()

        await world.settle(within=360)

        assert Reason.TIMED_OUT == world.status().reason


async def test_a_longer_walltime_is_passed_on():
    async with World(HELD) as world:
        world.outside.course = Course(runs_for=1000.0)
        await world.submit(resources=Resources(walltime=Duration(minutes=10)))
        await world.until_phase(Phase.RUNNING)

        await world.change(resources=Resources(walltime=Duration(hours=1)))
        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        assert 1 == world.requests["update"]


async def test_the_warning_is_sent_once_before_the_walltime_ends():
    async with World(HELD) as world:
        world.outside.course = LONG
        walltime = Resources(walltime=Duration(minutes=10))
        await world.submit(resources=walltime, signal=Warn("USR1", Duration(minutes=2)))

        await world.settle()

        (warning,) = [entry for entry in world.ledger if entry.what == "signal"]
        (start,) = [entry for entry in world.ledger if entry.what == "start"]
        assert "USR1" == warning.note
        assert 475 < warning.at - start.at < 490


@pytest.mark.parametrize("hours", [-30, 30])
async def test_a_step_of_the_clock_ends_no_job_by_mistake(hours):
    """
    NTP or a person sets the time of day: no deadline may be invented, and no limit of a day be met by it.
    """
    async with World(HELD) as world:
        world.outside.course = Course(runs_for=600.0)
        await world.submit()
        await world.until_phase(Phase.RUNNING)

        world.clock.step(Duration(hours=hours))
        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        assert 1 == world.requests["submit"]
