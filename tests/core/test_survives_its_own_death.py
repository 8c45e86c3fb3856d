"""
Problem: a restart of the controller loses track, and leaves duplicates or orphans.

A kill, or a freeze and a thaw, at every single await must end in exactly one job.
"""

import pytest

from bascule.model import Phase
from tests.core.world import World
from tests.fakes.faults import REPLY_LOST, late
from tests.fakes.kinds import CHOSEN, FORGETFUL, HELD
from tests.virtual import VirtualLoop, run_virtual

pytestmark = pytest.mark.long

loop_factory = VirtualLoop

KINDS = pytest.mark.parametrize("abilities", [CHOSEN, HELD, FORGETFUL], ids=["chosen", "held", "forgetful"])
WEATHER = pytest.mark.parametrize("fault", [None, REPLY_LOST, late(40)], ids=["fair", "reply lost", "late"])
DAY = 86400.0


async def live(world):
    """Let the job live until the process stops or the job is over; return which it was."""
    await world.submit()
    await world.until(lambda: world.process.gate.is_frozen or world.phase_of().is_final)
    return world.process.gate.is_frozen


def at_every_await(scenario):
    """Run *scenario* with a stop at the first, the second, ... await, until a job lives without one."""
    number = 0
    while run_virtual(scenario(number := number + 1)):
        assert number < 2000
    assert number > 10


@KINDS
@WEATHER
def test_a_kill_at_any_await_ends_in_one_job(abilities, fault):
    async def scenario(number):
        async with World(abilities) as world:
            world.faults.next("submit", fault)
            world.process.gate.stop_at(number, "die")
            stopped = await live(world)
            await world.crash()

            await world.settle()
            await world.pass_time(3600)

            assert Phase.SUCCEEDED is world.phase_of(), f"killed at await {number}: {world.status()}"
            world.ledger.assert_sound()
            assert not may_run(world), f"killed at await {number}: {may_run(world)}"
            return stopped

    at_every_await(scenario)


async def test_a_late_twin_is_removed_after_a_restart_with_nothing_else_to_do():
    """
    The job is over, the process is new, and nobody needs the target any more: the orphan is still ours to remove.
    """
    async with World(HELD) as world:
        world.faults.next("submit", late(45))
        await world.submit()
        await world.settle()
        await world.crash()

        await world.pass_time(DAY)

        assert not left_behind(world)


@KINDS
@WEATHER
@pytest.mark.parametrize("frozen_for", [60, pytest.param(DAY, marks=pytest.mark.slow)])
def test_a_process_frozen_at_any_await_does_no_harm_when_it_thaws(abilities, fault, frozen_for):
    """
    It wakes up after its successor took over, and believes that nothing has been.
    """

    async def scenario(number):
        async with World(abilities) as world:
            world.faults.next("submit", fault)
            old = world.process
            old.gate.stop_at(number, "freeze")
            stopped = await live(world)
            world.start()
            await world.pass_time(frozen_for)
            old.gate.thaw()

            await world.settle()
            await world.pass_time(3600)
            await old.kill()

            assert Phase.SUCCEEDED is world.phase_of(), f"frozen at await {number}: {world.status()}"
            world.ledger.assert_sound()
            assert not left_behind(world), f"frozen at await {number}: {left_behind(world)}"
            return stopped

    at_every_await(scenario)


@pytest.mark.parametrize("abilities", [CHOSEN, HELD], ids=["chosen", "held"])
def test_a_kill_at_any_await_loses_no_cancel(abilities):
    async def scenario(number):
        async with World(abilities) as world:
            world.process.gate.stop_at(number, "die")
            await world.submit()
            await world.until(lambda: world.process.gate.is_frozen or world.phase_of() is Phase.RUNNING)
            await world.change(cancel=True)
            await world.until(lambda: world.process.gate.is_frozen or world.phase_of().is_final)
            stopped = world.process.gate.is_frozen
            await world.crash()

            await world.settle()

            assert not left_behind(world), f"killed at await {number}: {left_behind(world)}"
            assert world.phase_of() in {Phase.CANCELLED, Phase.SUCCEEDED}
            return stopped

    at_every_await(scenario)


def left_behind(world):
    """Return the outside jobs that have not ended."""
    return [job for job in world.outside_jobs() if job.ended is None]


def may_run(world):
    """Return the outside jobs that have not ended and are not held."""
    return [job for job in left_behind(world) if not job.held]
