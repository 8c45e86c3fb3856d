"""
People and clusters do things at odd moments: names used again, wishes taken back, queues left and joined again.
"""

from datetime import timedelta

import pytest

from bascule.model import Deadlines, Duration, Phase
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.faults import REFUSED, REPLY_LOST, late
from tests.fakes.kinds import HELD
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop

LONG = Course(runs_for=5400.0)


@pytest.mark.parametrize("doubt", [REPLY_LOST, late(15)], ids=["reply lost", "late"])
async def test_a_job_let_go_while_its_submit_is_in_doubt_runs_on(doubt):
    """
    `onDelete: Detach` means that the job shall run: what we hold must be released before the object goes.
    """
    async with World(HELD) as world:
        world.faults.next("submit", doubt)
        await world.submit(on_delete="Detach")
        await world.until(lambda: world.status().intent is not None)
        await world.pass_time(5)

        await world.delete()
        await world.gone()
        await world.pass_time(3600)

        assert ["COMPLETED"] == [job.state for job in world.outside_jobs()]


async def test_a_job_let_go_before_its_release_is_released_first():
    async with World(HELD) as world:
        world.faults.always("release", REFUSED)
        await world.submit(on_delete="Detach")
        await world.until(lambda: world.status().handle is not None)
        await world.delete()
        await world.pass_time(300)

        world.faults.clear()
        await world.gone()
        await world.pass_time(60)

        assert ["COMPLETED"] == [job.state for job in world.outside_jobs()]


async def test_a_requeued_job_waits_anew():
    """
    It ran for most of an hour, lost its node and is back in the queue: that wait has only begun.
    """
    async with World(HELD) as world:
        world.outside.course = LONG
        await world.submit(deadlines=Deadlines(queued=Duration(minutes=30)))
        await world.until_phase(Phase.RUNNING)
        await world.pass_time(3000)
        (job,) = world.outside_jobs()

        job.course = Course(starts_after=300.0)
        world.outside.requeue(job)
        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()


async def test_a_name_used_again_is_another_job():
    async with World(HELD) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        await world.delete()
        await world.gone()

        await world.submit()
        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        assert ["CANCELLED", "COMPLETED"] == [job.state for job in world.outside_jobs()]


async def test_a_restart_with_many_jobs_asks_little():
    """
    Their ids are on record: one observation, and no search.
    """
    async with World(HELD) as world:
        world.outside.course = LONG
        for number in range(200):
            await world.submit(f"job{number}")
        await world.until(lambda: all(job.status.phase is Phase.RUNNING for job in world.objects.jobs.values()))
        before = sum(world.requests.values())

        await world.crash()
        await world.pass_time(5)

        assert sum(world.requests.values()) - before < 10
        assert "find" not in world.requests


async def test_suspending_while_the_submit_is_in_doubt_waits_for_the_truth():
    async with World(HELD) as world:
        world.faults.next("submit", late(45))
        await world.submit()
        await world.pass_time(5)

        await world.change(suspend=True)
        await world.pass_time(600)
        started = [entry for entry in world.ledger if entry.what == "start"]
        await world.change(suspend=False)
        await world.settle()
        await world.pass_time(3600)

        assert not started
        assert Phase.SUCCEEDED is world.phase_of()
        world.ledger.assert_sound()
        assert not [job for job in world.outside_jobs() if job.ended is None]


async def test_a_wish_to_suspend_that_is_taken_back_at_once_never_runs_two_attempts():
    async with World(HELD) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)

        await world.change(suspend=True)
        await world.change(suspend=False)
        await world.settle(within=20000)

        assert Phase.SUCCEEDED is world.phase_of()
        world.ledger.assert_sound()


async def test_ids_given_again_by_a_restarted_head_are_not_ours():
    """
    The head forgot our held job and gave its number to a stranger: our cancel must not reach it.
    """
    async with World(HELD) as world:
        world.outside.course = Course(starts_after=100.0)
        await world.submit()
        await world.until(lambda: world.status().handle is not None)
        world.outside.restart(forgets=100)
        stranger = world.outside.submit("somebodys", owner="stranger")

        await world.change(cancel=True)
        await world.settle()

        assert stranger.id == world.status().id
        assert "CANCELLED" != stranger.state


FORWARD = pytest.param(31, 1)


@pytest.mark.parametrize(("moment", "hours"), [(10, -1), (10, 1), (31, -1), FORWARD])
async def test_a_step_of_the_clock_while_in_doubt_runs_nothing_twice(moment, hours):
    """
    Without the hold, proof of absence is all there is: a clock that jumps must not make one.
    """
    async with World(HELD, submission="Direct") as world:
        world.outside.appears_after = 38.0
        world.faults.next("submit", REPLY_LOST)
        await world.submit()
        await world.pass_time(moment)

        world.clock.step(timedelta(hours=hours))
        await world.settle(within=10000)

        world.ledger.assert_sound()
