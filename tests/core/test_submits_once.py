"""
Problem: the submit succeeded, the answer was lost, and the job ran twice.

Whatever becomes of a submit, one outside job runs and its result is ours.
"""

import pytest

from bascule.model import Phase, Reason, Run
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.faults import (
    DOUBLED,
    HANGS,
    REFUSED,
    REJECTED,
    REPLY_LOST,
    REQUEST_LOST,
    UNAUTHORIZED,
    busy,
    late,
    slow,
)
from tests.fakes.kinds import BLIND, CHOSEN, FORGETFUL, HELD
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop

SEARCHABLE = pytest.mark.parametrize("abilities", [CHOSEN, HELD, FORGETFUL], ids=["chosen", "held", "forgetful"])
DOUBTS = {
    "request lost": REQUEST_LOST,
    "reply lost": REPLY_LOST,
    "doubled": DOUBLED,
    "hangs": HANGS,
    "late by a second": late(1),
    "late, after the time-out": late(31),
    "late, after the second look": late(45),
    "late, by minutes": late(300),
    "slow": slow(20),
}


@SEARCHABLE
@pytest.mark.parametrize("doubt", DOUBTS)
async def test_a_doubtful_submit_runs_once(abilities, doubt):
    async with World(abilities) as world:
        world.faults.next("submit", DOUBTS[doubt])
        await world.submit()

        await world.settle()
        await world.pass_time(3600)

        assert Phase.SUCCEEDED is world.phase_of()
        world.ledger.assert_sound()
        assert 1 == len([entry for entry in world.ledger if entry.what == "start"])


@SEARCHABLE
@pytest.mark.parametrize("doubt", [None, REPLY_LOST, REQUEST_LOST], ids=["fair", "reply lost", "request lost"])
async def test_a_job_that_appears_late_is_waited_for(abilities, doubt):
    """
    A manager may have accepted what it does not show yet: not there is no proof before its settling time.
    """
    async with World(abilities) as world:
        world.outside.appears_after = 0.8 * abilities.settles
        world.faults.next("submit", doubt)
        await world.submit()

        await world.settle()
        await world.pass_time(3600)

        assert Phase.SUCCEEDED is world.phase_of()
        assert 1 == world.status().attempt
        world.ledger.assert_sound()


async def test_a_direct_submit_that_appears_late_is_not_repeated():
    """
    Without the hold, the settling time is all that keeps a doubt from running twice.
    """
    async with World(HELD, submission="Direct") as world:
        world.outside.appears_after = 35.0  # the time-out, and half of the settling time
        world.faults.next("submit", REPLY_LOST)
        await world.submit()

        await world.settle()
        await world.pass_time(3600)

        assert Phase.SUCCEEDED is world.phase_of()
        world.ledger.assert_sound()


@SEARCHABLE
async def test_doubt_upon_doubt_still_runs_once(abilities):
    async with World(abilities) as world:
        world.faults.next("submit", REPLY_LOST, REQUEST_LOST, late(40), REPLY_LOST)
        world.faults.next("find", REFUSED, REPLY_LOST, UNAUTHORIZED, busy(20))
        world.faults.next("release", REQUEST_LOST, REPLY_LOST)
        await world.submit()

        await world.settle()
        await world.pass_time(3600)

        assert Phase.SUCCEEDED is world.phase_of()
        world.ledger.assert_sound()


async def test_a_late_twin_is_removed_by_the_sweeper():
    """
    What nobody recorded is held, never runs, and does not stay for ever.
    """
    async with World(HELD) as world:
        world.faults.next("submit", late(45))
        await world.submit()
        await world.settle()

        await world.pass_time(1200)

        assert 2 == len(world.outside_jobs())
        assert {"COMPLETED", "CANCELLED"} == {job.state for job in world.outside_jobs()}


async def test_a_release_that_was_lost_is_made_again():
    async with World(HELD) as world:
        world.faults.next("release", REQUEST_LOST, REFUSED)
        await world.submit()

        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()


async def test_a_users_own_hold_after_the_release_is_theirs():
    """
    The release is on record and never repeated: somebody who holds the job outside means it.
    """
    async with World(HELD) as world:
        world.outside.courses["job"] = (Course(starts_after=600.0),)
        await world.submit()
        await world.until_phase(Phase.QUEUED)
        world.outside.hold(world.outside_jobs()[0])

        await world.until_phase(Phase.HELD)
        await world.pass_time(7200)

        assert Phase.HELD is world.phase_of()
        assert 1 == world.requests["release"]


async def test_where_nothing_can_be_searched_a_doubt_stays_a_doubt():
    """
    No key and no hold: what cannot be promised is said, and nothing is submitted again.
    """
    async with World(BLIND) as world:
        world.faults.next("submit", REPLY_LOST)
        await world.submit()

        await world.until_phase(Phase.UNKNOWN)
        await world.pass_time(86400)

        assert Phase.UNKNOWN is world.phase_of()
        assert Reason.CANNOT_TELL == world.status().reason
        assert 1 == len(world.outside_jobs())


@pytest.mark.parametrize("fault", [REFUSED, UNAUTHORIZED, busy(30)], ids=lambda fault: fault.kind)
async def test_what_surely_did_not_happen_is_tried_again(fault):
    """
    A target that is down, busy or has a stale credential costs a job time, nothing else.
    """
    async with World(HELD) as world:
        world.faults.next("submit", fault, fault, fault)
        await world.submit()

        await world.settle()

        assert Phase.SUCCEEDED is world.phase_of()
        assert 1 == len(world.outside_jobs())


async def test_a_job_waits_as_pending_while_its_target_is_down():
    """
    Problem: a failed submit is shown as submitted.
    """
    async with World(HELD) as world:
        world.outside.is_down = True
        await world.submit()
        await world.pass_time(600)
        while_down = world.status()

        world.outside.is_down = False
        await world.settle()

        assert (Phase.PENDING, Reason.TARGET_UNREACHABLE) == (while_down.phase, while_down.reason)
        assert "refused the connection" in while_down.message
        assert Phase.SUCCEEDED is world.phase_of()


async def test_a_refused_submit_fails_with_the_managers_own_words():
    """
    Problem: the user is never told why.
    """
    async with World(HELD) as world:
        world.faults.next("submit", REJECTED)
        await world.submit()

        await world.settle()

        status = world.status()
        assert (Phase.FAILED, Reason.REFUSED) == (status.phase, status.reason)
        assert "says no to `submit`" in status.message
        assert [event for event in world.events() if "says no" in event.message and event.type == "Warning"]
        assert 1 == world.requests["submit"]


async def test_a_job_that_the_manager_cannot_take_is_never_submitted():
    """
    A mistake is told at once, with the option's name, and mends itself when the job is changed.
    """
    async with World(HELD) as world:
        await world.submit(options={"no_such_option": 1})
        await world.until(lambda: world.status().reason == Reason.NOT_ACCEPTED)
        told = world.status().message

        await world.change(options={})
        await world.settle()

        assert "no_such_option" in told
        assert Phase.SUCCEEDED is world.phase_of()
        assert 1 == world.requests["submit"]


@pytest.mark.parametrize(
    "script", ["echo 'a' \"b\" `c` $d \\\n", "#!/bin/sh\r\necho\r\n", "\ttab\u00e9\u4e2d\U0001f600", "no end of line"]
)
async def test_a_script_arrives_as_it_was_written(script):
    """
    Problem: the script's text breaks the request.
    """
    async with World(HELD) as world:
        await world.submit(run=Run(script=script))

        await world.settle()

        assert [script] == [order.job.spec.run.script for order in world.orders]
