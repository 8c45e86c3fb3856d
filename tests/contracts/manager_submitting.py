"""The contract of managers: submit, hold and release, check."""

from __future__ import annotations

from contextlib import suppress

import pytest

from bascule.errors import Mistake, Refused
from bascule.model import Array, Phase, Report
from tests.contracts.owed import owed_if

WAITING = {Phase.QUEUED, Phase.HELD}


class Submitting:
    """From an order to a job that may start."""

    async def test_submit_gives_a_handle_with_the_key(self, world):
        """
        The handle names the job by the manager's id and by our key.
        """
        order = world.order()

        handle = await world.manager.submit(order)

        assert handle.id
        assert order.key == handle.key

    async def test_a_submitted_job_starts_once(self, world):
        order, handle = await world.running()

        assert 1 == world.starts(order.key)
        assert isinstance(await world.see(handle), Report)

    async def test_two_orders_are_two_jobs(self, world):
        first, second = [await world.manager.submit(world.order()) for _ in range(2)]

        assert first.id != second.id

    @owed_if("key=chosen")
    async def test_a_second_submit_of_a_key_is_recognised(self, world):
        """
        Where we choose the id, what bears it already is the answer.
        """
        order, handle = await world.running()

        again = await world.manager.submit(order)

        assert handle.id == again.id
        assert 1 == world.starts(order.key)

    @owed_if("key=chosen")
    async def test_a_key_whose_job_is_over_runs_nothing_again(self, world):
        """
        A late second submit must not run what has already ended.
        """
        order, _, _ = await world.over()

        again = await world.manager.submit(order)

        assert (await world.becomes(again, Phase.SUCCEEDED)).is_over
        assert 1 == world.starts(order.key)

    async def test_check_takes_what_can_be_run(self, world):
        world.manager.check(world.order().job)

    async def test_check_names_an_option_that_it_does_not_know(self, world):
        """
        An option is never dropped in silence.
        """
        with pytest.raises(Mistake) as caught:
            world.manager.check(world.order(options={"no_such_option": 1}).job)

        assert "no_such_option" in f"{caught.value} {caught.value.problems}"

    @owed_if("!arrays")
    async def test_check_refuses_an_array_where_there_are_none(self, world):
        with pytest.raises(Mistake):
            world.manager.check(world.order(array=Array("0-9")).job)

    @owed_if("!hold")
    async def test_check_refuses_a_hold_where_there_are_none(self, world):
        with pytest.raises(Mistake):
            world.manager.check(world.order(hold=True).job)

    @owed_if("!holds")
    async def test_a_held_submit_is_never_made_without_the_hold(self, world):
        """
        Who cannot hold must say so, since the hold is what makes it safe.
        """
        order = world.order(held=True)

        with pytest.raises(Mistake):
            await world.manager.submit(order)

        assert 0 == world.starts(order.key)

    @owed_if("holds")
    async def test_a_held_job_does_not_start_before_it_is_released(self, world):
        order = world.order(held=True)
        handle = await world.manager.submit(order)

        await world.clock.sleep(world.settling)
        report = await world.see(handle)

        assert 0 == world.starts(order.key)
        assert report.phase in WAITING

    @owed_if("holds")
    async def test_a_released_job_starts_once_however_often_it_is_released(self, world):
        order = world.order(held=True)
        handle = await world.manager.submit(order)

        await world.manager.release(handle)
        await world.manager.release(handle)
        await world.start(handle)
        await world.becomes(handle, Phase.RUNNING)
        await world.manager.release(handle)

        assert 1 == world.starts(order.key)

    @owed_if("holds")
    async def test_a_cancelled_job_is_not_started_by_a_late_release(self, world):
        order = world.order(held=True)
        handle = await world.manager.submit(order)
        await world.manager.cancel(handle)

        with suppress(Refused):
            await world.manager.release(handle)
        await world.clock.sleep(world.settling)

        assert 0 == world.starts(order.key)

    @owed_if("hold", "world.waits")
    async def test_a_users_hold_keeps_a_waiting_job_until_it_is_lifted(self, world):
        order = world.order()
        handle = await world.manager.submit(order)

        await world.manager.hold(handle)
        await world.becomes(handle, Phase.HELD)
        await world.clock.sleep(world.settling)
        started_while_held = world.starts(order.key)
        await world.manager.unhold(handle)
        await world.start(handle)
        await world.becomes(handle, Phase.RUNNING)

        assert 0 == started_while_held
        assert 1 == world.starts(order.key)
