"""
Problems: one empty or failed answer is taken as truth; ends are lumped together; a requeue
is called a failure; what was purged counts as running for ever; an outside cancel is not seen.
"""

import pytest

from bascule.model import Deadlines, Duration, Phase, Reason, Source
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.faults import ANY, EMPTY, HANGS, PARTIAL, REFUSED, REPLY_LOST, UNAUTHORIZED, UNCHANGED, busy, slow
from tests.fakes.kinds import BLIND, CHOSEN, FORGETFUL, HELD, KINDS
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
