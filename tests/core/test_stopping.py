"""
Problems: a cancel is lost when the far side is down, and the job runs on; "terminate" leaves
the outside job behind.

Every cancel ends: in every phase, through every fault, with the object kept until the manager
has confirmed it.
"""

import pytest

from bascule.model import ABANDON, Duration, Phase, Reason
from tests.core.stopping import LONG, WAYS, alive, ended, stop
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.faults import HANGS, REFUSED, REPLY_LOST, REQUEST_LOST, UNAUTHORIZED, busy, late
from tests.fakes.kinds import CHOSEN, FORGETFUL, HELD, KINDS
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop

SEARCHABLE = pytest.mark.parametrize("abilities", [CHOSEN, HELD, FORGETFUL], ids=["chosen", "held", "forgetful"])
FAULTS = [REFUSED, REQUEST_LOST, REPLY_LOST, HANGS, UNAUTHORIZED, busy(20), late(60)]


@WAYS
@pytest.mark.parametrize("kind", KINDS)
async def test_a_running_job_is_ended_outside(kind, way):
    async with World(KINDS[kind]) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)

        await stop(world, way)
        await ended(world, way)

        assert not alive(world)


@WAYS
@SEARCHABLE
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)
async def test_no_fault_loses_a_cancel(abilities, fault, way):
    async with World(abilities) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        world.faults.next("cancel", fault, fault, fault)

        await stop(world, way)
        await ended(world, way)

        assert not alive(world)


@WAYS
@SEARCHABLE
async def test_a_cancel_waits_for_a_manager_that_is_down(abilities, way):
    """
    The object stays until the manager has confirmed, and says why it is still there.
    """
    async with World(abilities) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        world.outside.is_down = True
        await stop(world, way)
        await world.pass_time(7200)
        meanwhile = world.status()

        world.outside.is_down = False
        await ended(world, way)

        assert (Phase.RUNNING, Reason.CANCELLING) == (meanwhile.phase, meanwhile.reason)
        assert "refused the connection" in meanwhile.message
        assert not alive(world)


@WAYS
@SEARCHABLE
async def test_a_cancel_survives_a_crash_while_the_manager_is_down(abilities, way):
    async with World(abilities) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        world.outside.is_down = True
        await stop(world, way)
        await world.pass_time(100)
        await world.crash()
        await world.pass_time(100)

        world.outside.is_down = False
        await ended(world, way)

        assert not alive(world)


@WAYS
async def test_a_job_that_never_went_outside_ends_at_once(way):
    async with World(HELD) as world:
        world.outside.is_down = True
        await world.submit()
        await world.until(lambda: world.status().reason == Reason.TARGET_UNREACHABLE)

        await stop(world, way)
        await ended(world, way)
        world.outside.is_down = False
        await world.pass_time(600)

        assert not world.outside_jobs()


@WAYS
@SEARCHABLE
async def test_a_waiting_job_ends_and_never_starts(abilities, way):
    async with World(abilities) as world:
        world.outside.course = Course(starts_after=600.0)
        await world.submit()
        await world.until_phase(Phase.QUEUED)

        await stop(world, way)
        await ended(world, way)
        await world.pass_time(1200)

        assert not [entry for entry in world.ledger if entry.what == "start"]


async def test_a_person_may_let_go_of_a_deleted_job():
    """
    An explicit way out, where the manager will never answer again.
    """
    async with World(HELD) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        world.outside.is_down = True
        await world.delete()
        await world.pass_time(3600)
        still_there = world.job() is not None

        await world.annotate(ABANDON, "true")
        await world.gone(within=120)

        assert still_there


async def test_a_job_that_ends_by_itself_before_the_cancel_keeps_its_result():
    async with World(HELD) as world:
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        world.faults.next("observe", *[REFUSED] * 3)
        await world.pass_time(11)

        await world.change(cancel=True)
        await world.settle()

        assert (Phase.SUCCEEDED, 0) == (world.phase_of(), world.status().exit_code)


async def test_a_job_that_does_not_heed_the_cancel_is_asked_again_and_not_called_cancelled():
    """
    A cancel is over when the manager says that the job is, not when it has taken the request.
    """
    async with World(HELD) as world:
        world.outside.course = LONG
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        world.faults.always("cancel", REQUEST_LOST)
        await world.change(cancel=True)
        await world.pass_time(1800)
        meanwhile = world.phase_of()

        world.faults.clear()
        await world.settle()

        assert Phase.RUNNING is meanwhile
        assert Phase.CANCELLED is world.phase_of()
        assert 3 < world.requests["cancel"] < 30


async def test_detach_lets_the_outside_job_run_on():
    async with World(HELD) as world:
        await world.submit(on_delete="Detach")
        await world.until_phase(Phase.RUNNING)

        await world.delete()
        await world.gone()
        await world.pass_time(60)

        assert ["COMPLETED"] == [job.state for job in world.outside_jobs()]
        assert "cancel" not in world.requests


async def test_a_suspended_job_is_stopped_and_begins_anew():
    async with World(HELD) as world:
        world.outside.course = Course(runs_for=300.0)
        await world.submit()
        await world.until_phase(Phase.RUNNING)

        await world.change(suspend=True)
        await world.until_phase(Phase.PENDING)
        await world.pass_time(3600)
        meanwhile = (world.status().reason, len(alive(world)))
        await world.change(suspend=False)
        await world.settle()

        assert (Reason.SUSPENDED, 0) == meanwhile
        assert Phase.SUCCEEDED is world.phase_of()
        assert 2 == world.status().attempt
        world.ledger.assert_sound()


async def test_a_cancel_of_a_suspended_job_ends_it():
    async with World(HELD) as world:
        await world.submit(suspend=True)
        await world.until(lambda: world.status().reason == Reason.SUSPENDED)

        await world.change(cancel=True)
        await world.settle(within=60)

        assert Phase.CANCELLED is world.phase_of()


async def test_an_unknown_job_is_asked_to_end_and_not_called_cancelled():
    """
    The manager still takes a cancel for what it will not tell of; the doubt about the end stays told.
    """
    async with World(FORGETFUL) as world:
        world.outside.course = Course(runs_for=100.0)
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        world.outside.is_down = True
        await world.pass_time(world.outside.keeps_for)
        world.outside.purge(world.outside_jobs()[0])
        world.outside.is_down = False
        await world.until_phase(Phase.UNKNOWN)

        await world.change(cancel=True)
        await world.pass_time(600)

        assert (Phase.UNKNOWN, 1) == (world.phase_of(), min(world.requests["cancel"], 1))


async def test_a_deleted_job_goes_after_its_time():
    """
    `ttlAfterFinished` removes the object, and nothing is submitted again.
    """
    async with World(HELD) as world:
        await world.submit(ttl_after_finished=Duration(hours=1))
        await world.settle()
        over_at = world.clock.monotonic()

        await world.gone()

        assert 3590 < world.clock.monotonic() - over_at < 3700
        assert 1 == world.requests["submit"]
