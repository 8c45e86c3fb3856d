"""
Problems: one empty or failed answer is taken as truth; ends are lumped together; a requeue
is called a failure; what was purged counts as running for ever; an outside cancel is not seen.
"""

import pytest

from bascule.model import Phase, Reason
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.faults import ANY, EMPTY, HANGS, PARTIAL, REFUSED, REPLY_LOST, UNAUTHORIZED, UNCHANGED, busy, slow
from tests.fakes.kinds import HELD, KINDS
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop

LONG = Course(runs_for=5400.0)
NO_NEWS = [EMPTY, PARTIAL, UNCHANGED, REFUSED, UNAUTHORIZED, REPLY_LOST, HANGS, busy(60), slow(29)]


@pytest.mark.parametrize("fault", NO_NEWS, ids=lambda fault: fault.kind)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_poll_that_tells_nothing_changes_no_job(kind, fault):
    """
    Empty, partial, failed and unchanged answers are no news, however often they come.
    """
    async with World(KINDS[kind]) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        before = world.stored()

        world.faults.always("observe", fault)
        await world.pass_time(3600)

        assert before.version == world.stored().version
        assert 1 == world.requests["submit"]


@pytest.mark.parametrize("fault", NO_NEWS, ids=lambda fault: fault.kind)
async def test_the_end_is_seen_when_the_manager_talks_again(fault):
    async with World(HELD) as world:
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        world.faults.always("observe", fault)
        await world.pass_time(3600)

        world.faults.clear()
        await world.settle(within=900)

        assert Phase.SUCCEEDED is world.phase_of()


async def test_a_silent_manager_is_asked_ever_more_rarely():
    """
    A manager in trouble is not helped by being asked all the time.
    """
    async with World(HELD) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        asked = sum(world.requests.values())

        world.faults.always(ANY, REFUSED)
        await world.pass_time(3600)

        assert sum(world.requests.values()) - asked < 60


async def test_a_thousand_jobs_are_watched_by_one_request():
    async with World(HELD) as world:
        world.outside.course = LONG
        for number in range(1000):
            await world.submit(f"job{number}")
        await world.until(lambda: all(job.state == "RUNNING" for job in world.outside.living()))
        await world.pass_time(60)
        before = world.requests["observe"]

        await world.pass_time(600)

        assert world.requests["observe"] - before < 75


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("TIMEOUT", Reason.TIMED_OUT),
        ("OUT_OF_MEMORY", Reason.OUT_OF_MEMORY),
        ("NODE_FAIL", Reason.NODE_FAILED),
        ("PREEMPTED", Reason.PREEMPTED),
    ],
)
async def test_every_way_to_fail_has_its_own_reason(word, reason):
    """
    Memory, time, node and preemption ask for different things of the user, and none is a success.
    """
    async with World(HELD) as world:
        world.outside.course = Course(word=word)
        await world.submit()

        await world.settle()

        status = world.status()
        assert (Phase.FAILED, reason, word) == (status.phase, status.reason, status.manager.state)


@pytest.mark.parametrize(("exit_code", "signal", "reason"), [(3, None, Reason.EXIT_CODE), (0, 9, Reason.SIGNAL)])
async def test_exit_code_and_signal_are_told_apart(exit_code, signal, reason):
    async with World(HELD) as world:
        world.outside.course = Course(exit_code=exit_code, signal=signal)
        await world.submit()

        await world.settle()

        status = world.status()
        assert (Phase.FAILED, reason) == (status.phase, status.reason)
        assert (exit_code or None, signal) == (status.exit_code, status.signal)


async def test_an_unknown_word_keeps_the_phase_and_is_shown():
    """
    Next year's release has a state that we do not know: the job goes on.
    """
    async with World(HELD) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        (job,) = world.outside_jobs()

        world.outside.say(job, "FLUMMOXED")
        await world.until(lambda: world.status().manager.state == "FLUMMOXED")
        meanwhile = world.phase_of()
        world.outside.say(job, "")
        await world.settle()

        assert Phase.RUNNING is meanwhile
        assert Phase.SUCCEEDED is world.phase_of()


async def test_a_requeued_job_has_not_failed():
    """
    A node was lost and the manager starts the same job again: one attempt, one more restart.
    """
    async with World(HELD) as world:
        world.outside.course = Course(runs_for=300.0)
        await world.submit()
        await world.until_phase(Phase.RUNNING)

        world.outside.requeue(world.outside_jobs()[0])
        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        assert (1, 1) == (world.status().attempt, world.status().manager.restarts)
        assert [event for event in world.events() if event.reason == "Restarted"]


async def test_an_end_that_is_still_being_completed_is_not_final():
    """
    A final word counts once the manager is done: before that it may still be requeued.
    """
    async with World(HELD) as world:
        world.outside.completes_in = 120.0
        await world.submit()
        await world.until(lambda: any(entry.what == "end" for entry in world.ledger))

        await world.pass_time(60)
        meanwhile = world.phase_of()
        await world.settle()

        assert Phase.RUNNING is meanwhile
        assert Phase.SUCCEEDED is world.phase_of()


async def test_a_cancel_from_outside_is_seen_within_a_poll():
    async with World(HELD) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)

        world.outside.cancel(world.outside_jobs()[0])
        await world.settle(within=15)

        assert Phase.CANCELLED is world.phase_of()
        assert world.status().stop is None
