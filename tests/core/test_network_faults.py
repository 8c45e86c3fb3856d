"""
Problem: intermittent network faults mark a job failed, and its id collides at the retry.
"""

from collections import defaultdict
from itertools import cycle

import pytest

from bascule.model import Phase
from tests.core.world import World
from tests.fakes.faults import HANGS, REFUSED, REPLY_LOST, REQUEST_LOST, UNAUTHORIZED, Fault, busy
from tests.fakes.kinds import CHOSEN, FORGETFUL, HELD
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop

SEARCHABLE = pytest.mark.parametrize("abilities", [CHOSEN, HELD, FORGETFUL], ids=["chosen", "held", "forgetful"])


class Rhythm:
    """Faults in turn, for each kind of call from the beginning."""

    def __init__(self, *faults: Fault | None) -> None:
        self._turns = defaultdict(lambda: cycle(faults))

    def fault_of(self, call: str) -> Fault | None:
        """Return the next in turn."""
        return next(self._turns[call])


RHYTHMS = {
    "every second": (REFUSED, None),
    "every second reply": (REPLY_LOST, None),
    "two of three": (REQUEST_LOST, REPLY_LOST, None),
    "all kinds": (HANGS, REFUSED, UNAUTHORIZED, REPLY_LOST, busy(7), REQUEST_LOST, None, None),
}


@SEARCHABLE
@pytest.mark.parametrize("rhythm", RHYTHMS)
async def test_a_bad_line_costs_time_and_nothing_else(abilities, rhythm):
    async with World(abilities) as world:
        world.weathers["there"] = Rhythm(*RHYTHMS[rhythm])
        await world.submit()

        await world.settle(within=86400)

        assert Phase.SUCCEEDED is world.phase_of()
        assert 1 == world.status().attempt
        world.ledger.assert_sound()


@SEARCHABLE
async def test_the_key_is_the_same_at_every_try(abilities):
    async with World(abilities) as world:
        world.faults.next("submit", REQUEST_LOST, REQUEST_LOST, REPLY_LOST)
        await world.submit()

        await world.settle()

        assert {world.status().key} == {order.key for order in world.orders}


async def test_a_new_credential_lets_everything_go_on():
    """
    Problem: tokens expire in the middle. Jobs wait, none fails, and all go on by themselves.
    """
    async with World(HELD) as world:
        await world.submit("first")
        await world.until_phase(Phase.RUNNING, name="first")
        world.outside.locked = True
        await world.submit("second")
        await world.pass_time(7200)
        meanwhile = (world.phase_of("first"), world.phase_of("second"))

        world.outside.locked = False
        await world.settle("first")
        await world.settle("second")

        assert (Phase.RUNNING, Phase.PENDING) == meanwhile
        assert (Phase.SUCCEEDED, Phase.SUCCEEDED) == (world.phase_of("first"), world.phase_of("second"))


async def test_the_targets_conditions_say_what_is_wrong():
    """
    Problem: the outside's health is invisible.
    """
    async with World(HELD) as world:
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        world.outside.locked = True
        await world.pass_time(600)

        conditions = {condition.type: condition for condition in world.target().status.conditions}

        assert ("True", "False") == (conditions["Reachable"].status, conditions["Authenticated"].status)
        assert "credentials" in conditions["Authenticated"].message


async def test_a_target_that_hangs_delays_no_job_of_another():
    async with World(HELD) as world:
        await world.add_target("slow")
        world.faults_at("slow").always("submit", HANGS)
        for number in range(40):
            await world.submit(f"hangs{number}", target="slow")
        began = world.clock.monotonic()
        await world.submit()

        await world.settle()

        assert world.clock.monotonic() - began < 20
