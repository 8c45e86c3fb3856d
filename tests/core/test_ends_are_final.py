"""
Problem: the end is never reached, or the object is cleaned too early and the job done again.

`World` itself looks at every write: no final phase is ever left, in any test.
"""

import pytest

from bascule.model import Deadlines, Duration, Phase, Reason, Retry
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.faults import REPLY_LOST, slow
from tests.fakes.kinds import HELD, KINDS
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop


@pytest.mark.parametrize("kind", KINDS)
async def test_a_finished_job_is_never_submitted_again(kind):
    """
    Not by a restart, not by a purge, not by a change of what may still be changed.
    """
    async with World(KINDS[kind]) as world:
        await world.submit()
        await world.settle()
        for job in world.outside_jobs():
            world.outside.purge(job)

        await world.crash()
        await world.change(retry=Retry(limit=3, reasons=(Reason.EXIT_CODE,)))
        await world.change(suspend=True)
        await world.change(suspend=False, cancel=True)
        await world.pass_time(7200)

        assert Phase.SUCCEEDED is world.phase_of()
        assert 1 == world.requests["submit"]


async def test_the_end_is_on_record_before_anything_is_cleaned():
    """
    A far side that forgets the moment we have looked must not cost the result.
    """
    async with World(KINDS["chosen"]) as world:
        world.outside.purge_after = 30.0
        world.outside.course = Course(exit_code=3)
        await world.submit(ttl_after_finished=Duration(minutes=5))
        await world.settle()
        await world.gone()

        (states,) = world.objects.states.values()

        assert Phase.FAILED is states[-1].status.phase
        assert 3 == states[-1].status.exit_code


async def test_a_failed_job_is_retried_as_its_policy_says_and_no_more():
    async with World(HELD) as world:
        world.outside.course = Course(word="NODE_FAIL")
        await world.submit(retry=Retry(limit=2))

        await world.settle()
        await world.pass_time(3600)

        assert (Phase.FAILED, Reason.NODE_FAILED, 3) == (
            world.phase_of(),
            world.status().reason,
            world.status().attempt,
        )
        assert [1, 2] == [attempt.attempt for attempt in world.status().attempts]
        assert 3 == len(world.outside_jobs())
        world.ledger.assert_sound()


async def test_a_retry_that_succeeds_is_a_success():
    async with World(HELD) as world:
        world.outside.courses["job"] = (Course(word="PREEMPTED"), Course(exit_code=0))
        await world.submit(retry=Retry(limit=2))

        await world.settle()

        assert (Phase.SUCCEEDED, 2) == (world.phase_of(), world.status().attempt)
        assert world.status().key.endswith("-2")


async def test_a_users_mistake_is_never_retried():
    """
    An exit code is not on the list unless the user puts it there.
    """
    async with World(HELD) as world:
        world.outside.course = Course(exit_code=3)
        await world.submit(retry=Retry(limit=2))

        await world.settle()

        assert 1 == world.status().attempt


async def test_no_attempt_follows_one_whose_end_was_not_seen():
    """
    Lost by a deadline is no proof: the first could still run.
    """
    async with World(KINDS["forgetful"]) as world:
        world.outside.course = Course(runs_for=30.0)
        retry = Retry(limit=2, reasons=(Reason.LOST,))
        await world.submit(retry=retry, deadlines=Deadlines(unknown=Duration(hours=1)))
        await world.until_phase(Phase.RUNNING)
        world.outside.is_down = True
        await world.pass_time(world.outside.keeps_for)
        world.outside.purge(world.outside_jobs()[0])
        world.outside.is_down = False

        await world.settle()

        assert (Phase.FAILED, Reason.LOST, 1) == (world.phase_of(), world.status().reason, world.status().attempt)


@pytest.mark.parametrize("kind", ["chosen", "held", "forgetful"])
async def test_attempts_of_one_job_never_run_side_by_side(kind):
    async with World(KINDS[kind]) as world:
        world.outside.course = Course(exit_code=1, runs_for=60.0)
        world.outside.completes_in = 40.0
        world.faults.next("submit", None, REPLY_LOST, REPLY_LOST)
        await world.submit(retry=Retry(limit=3, reasons=(Reason.EXIT_CODE,)))

        await world.settle()

        assert 4 == world.status().attempt
        world.ledger.assert_sound()


async def test_a_restart_of_the_manager_that_forgets_a_submit_loses_no_job():
    """
    The head came back without its last seconds: what it never released is submitted again, once.
    """
    async with World(HELD) as world:
        world.faults.next("submit", REPLY_LOST)
        await world.submit()
        await world.pass_time(5)
        world.outside.restart(forgets=30)

        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        world.ledger.assert_sound()


async def test_a_release_that_the_manager_forgot_is_made_once_more():
    """
    The head came back with our job held again, though the release is on record.
    """
    async with World(HELD) as world:
        world.outside.course = Course(starts_after=20.0)
        world.faults.next("release", slow(20))
        await world.submit()
        await world.until(lambda: world.status().released_at is not None)
        world.outside.restart(forgets=1)

        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        assert 2 == world.requests["release"]
        world.ledger.assert_sound()
