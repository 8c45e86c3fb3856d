"""
Before the submit, and instead of one: predecessors, room at the target, holds, adoption.
"""

import pytest

from bascule.model import Adopt, After, Duration, Limits, Phase, Reason
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.faults import REPLY_LOST
from tests.fakes.kinds import CHOSEN, HELD
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop

LONG = Course(runs_for=5400.0)


@pytest.mark.parametrize(
    ("when", "exit_code", "phase"),
    [
        ("Succeeded", 0, Phase.SUCCEEDED),
        ("Succeeded", 3, Phase.FAILED),
        ("Failed", 3, Phase.SUCCEEDED),
        ("Failed", 0, Phase.FAILED),
        ("Finished", 3, Phase.SUCCEEDED),
    ],
)
async def test_a_job_waits_for_its_predecessor_and_for_its_end(when, exit_code, phase):
    async with World(HELD) as world:
        world.outside.courses["first"] = (Course(exit_code=exit_code),)
        await world.submit("second", after=(After("first", when),))
        await world.pass_time(60)
        waits = world.status("second").reason
        await world.submit("first")

        await world.settle("second")

        assert Reason.WAITING_FOR_JOB == waits
        assert phase is world.phase_of("second")
        if phase is Phase.FAILED:
            assert Reason.DEPENDENCY_NOT_MET == world.status("second").reason
            assert not world.outside_jobs("second")


async def test_a_chain_goes_on_at_once_when_a_link_ends():
    """
    A successor is woken by the end, not by its own next look.
    """
    async with World(HELD) as world:
        await world.submit("first")
        await world.submit("second", after=(After("first"),))
        await world.settle("first")
        over_at = world.clock.monotonic()

        await world.until_phase(Phase.SUBMITTING, Phase.QUEUED, Phase.RUNNING, name="second")

        assert world.clock.monotonic() - over_at < 1


async def test_a_cancelled_predecessor_fails_who_asked_for_success():
    async with World(HELD) as world:
        world.outside.course = LONG
        await world.submit("first")
        await world.submit("second", after=(After("first"),))
        await world.until_phase(Phase.RUNNING, name="first")

        await world.change("first", cancel=True)
        await world.settle("second")

        assert (Phase.FAILED, Reason.DEPENDENCY_NOT_MET) == (world.phase_of("second"), world.status("second").reason)


async def test_no_more_jobs_are_active_than_the_target_allows():
    async with World(HELD, limits=Limits(active_jobs=3)) as world:
        for number in range(10):
            await world.submit(f"job{number}")
        most = 0
        while not all(world.phase_of(f"job{number}").is_final for number in range(10)):
            most = max(most, sum(job.ended is None for job in world.outside.living()))
            await world.pass_time(0.5)

        assert 3 == most
        assert {"COMPLETED"} == {job.state for job in world.outside.living()}


async def test_the_limit_holds_across_a_crash():
    """
    What is outside counts, whoever submitted it.
    """
    async with World(HELD, limits=Limits(active_jobs=2)) as world:
        world.outside.course = LONG
        for number in range(4):
            await world.submit(f"job{number}")
        await world.pass_time(30)
        await world.crash()
        await world.pass_time(600)

        assert 2 == len(world.outside.living())


async def test_an_older_job_does_not_slip_in_while_a_new_process_still_counts():
    """
    What waits is listed before what is active: all is counted before any is looked at.
    """
    async with World(HELD, limits=Limits(active_jobs=1)) as world:
        world.outside.course = LONG
        await world.submit("older", suspend=True)
        await world.submit("younger")
        await world.until_phase(Phase.RUNNING, name="younger")
        await world.change("older", suspend=False)
        await world.pass_time(5)

        await world.crash()
        await world.pass_time(60)

        assert ["younger"] == [job.key.partition("-")[0] for job in world.outside.living()]


async def test_a_job_that_waits_for_room_says_so():
    async with World(HELD, limits=Limits(active_jobs=1)) as world:
        await world.submit("first")
        await world.until_phase(Phase.RUNNING, name="first")
        await world.submit("second")

        await world.pass_time(3)

        assert (Phase.PENDING, Reason.TARGET_FULL) == (world.phase_of("second"), world.status("second").reason)


async def test_a_held_job_goes_outside_and_waits_there_for_its_user():
    async with World(HELD) as world:
        await world.submit(hold=True)
        await world.until_phase(Phase.HELD)
        await world.pass_time(3600)
        meanwhile = world.phase_of()

        await world.change(hold=False)
        await world.settle()

        assert Phase.HELD is meanwhile
        assert Phase.SUCCEEDED is world.phase_of()


async def test_a_hold_on_a_waiting_job_is_passed_on_and_lifted():
    async with World(HELD) as world:
        world.outside.course = Course(starts_after=300.0)
        await world.submit()
        await world.until_phase(Phase.QUEUED)

        await world.change(hold=True)
        await world.until_phase(Phase.HELD)
        await world.pass_time(3600)
        started_meanwhile = [entry for entry in world.ledger if entry.what == "start"]
        await world.change(hold=False)
        await world.settle()

        assert not started_meanwhile
        assert Phase.SUCCEEDED is world.phase_of()


async def test_an_adopted_job_is_watched_and_never_submitted():
    async with World(HELD) as world:
        job = world.outside.submit("somebodys-own")

        await world.submit(adopt=Adopt(job.id))
        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        assert job.id == world.status().id
        assert "submit" not in world.requests


async def test_an_adopted_job_that_is_not_there_is_refused():
    async with World(HELD) as world:
        await world.submit(adopt=Adopt("4711"))

        await world.settle()

        assert (Phase.FAILED, Reason.REFUSED) == (world.phase_of(), world.status().reason)
        assert "4711" in world.status().message


async def test_a_job_from_a_restored_backup_is_looked_up_before_anything_else():
    """
    The copy knows of no submit, and the job of that key runs: it is adopted, not run again.
    """
    async with World(HELD) as world:
        world.outside.course = Course(runs_for=600.0)
        await world.submit()
        before = world.stored()
        await world.until_phase(Phase.RUNNING)
        await world.process.kill()
        world.objects.states.clear()
        world.objects.put_job(before)
        world.objects.distrusts_before = world.clock.now()

        world.start()
        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        assert 1 == world.requests["submit"]
        world.ledger.assert_sound()


async def test_a_restored_job_that_never_was_outside_is_submitted():
    async with World(HELD) as world:
        await world.process.kill()
        await world.submit()
        await world.pass_time(1)
        world.objects.distrusts_before = world.clock.now()

        world.start()
        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        world.ledger.assert_sound()


@pytest.mark.parametrize("abilities", [CHOSEN, HELD], ids=["chosen", "held"])
async def test_direct_submission_is_one_request(abilities):
    async with World(abilities, submission="Direct") as world:
        await world.submit()

        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        assert "release" not in world.requests


async def test_a_doubtful_direct_submit_is_looked_for_and_not_repeated():
    async with World(HELD, submission="Direct") as world:
        world.faults.next("submit", REPLY_LOST)
        await world.submit()

        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        world.ledger.assert_sound()


async def test_a_poll_interval_that_the_owner_sets_is_kept():
    async with World(HELD, limits=Limits(poll_interval=Duration(minutes=1))) as world:
        world.outside.course = LONG
        await world.submit()

        await world.settle()

        assert world.requests["observe"] < 5400 / 60 * 1.3
