"""The contract of managers: refused, cut and cancelled calls, and what they leave."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from bascule.errors import Error, Mistake, Refused, Unauthorized, Unavailable, Uncertain
from bascule.model import Absent, CannotTell, Found, Phase
from tests.contracts.manager_world import INSTALLATION
from tests.contracts.owed import owed_if

READS = ("find", "observe", "sweep", "read")
CHANGES = ("submit", "cancel")


async def call(world, name, order, handle):
    """Make the call of that name about one job."""
    manager = world.manager
    since = world.now() - timedelta(minutes=1)
    calls = {
        "submit": lambda: manager.submit(order),
        "find": lambda: manager.find(order.key, since),
        "observe": lambda: manager.observe([handle]),
        "sweep": lambda: manager.sweep(INSTALLATION),
        "read": lambda: manager.read(handle, "output", 0, 100),
        "cancel": lambda: manager.cancel(handle),
        "release": lambda: manager.release(handle),
    }
    return await calls[name]()


class Troubles:
    """A call says truthfully whether something may have happened."""

    @owed_if("world.refuse")
    async def test_a_refused_submit_did_not_happen(self, world):
        order = world.order()
        world.refuse("submit")

        with pytest.raises(Unavailable):
            await world.manager.submit(order)

        assert 0 == world.starts(order.key)
        assert not isinstance(await world.manager.find(order.key, world.now() - timedelta(minutes=1)), Found)

    @owed_if("world.cut")
    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_a_cut_submit_is_uncertain_and_the_search_is_not(self, world, when):
        """
        The caller is told to look; looking then tells what really happened.
        """
        since = world.now() - timedelta(minutes=1)
        order = world.order()
        world.cut("submit", when)

        with pytest.raises(Uncertain):
            await world.manager.submit(order)

        answer = await world.manager.find(order.key, since)
        if world.abilities.key == "none":
            assert isinstance(answer, CannotTell)
        elif when == "after":
            assert isinstance(answer, Found)
            assert 1 == len(answer.matches)
        else:
            assert isinstance(answer, Absent)

    @owed_if("world.reject")
    async def test_a_submit_that_the_manager_refuses_is_final_and_did_not_happen(self, world):
        """
        The manager's own no is no silence: nothing has to be looked for, and nothing tried again.
        """
        order = world.order()
        world.reject("submit")

        with pytest.raises(Refused):
            await world.manager.submit(order)

        assert 0 == world.starts(order.key)

    @owed_if("world.delay", "!key=none")
    async def test_a_submit_that_arrives_late_is_found_from_then_on(self, world):
        """
        Not there yet is not never: what was on its way while we looked is found by the next look.
        """
        since = world.now() - timedelta(minutes=1)
        order = world.order()
        world.delay("submit")

        with pytest.raises(Uncertain):
            await world.manager.submit(order)
        too_early = await world.manager.find(order.key, since)
        await world.arrive()
        found = await world.manager.find(order.key, since)

        assert not isinstance(too_early, Found)
        assert isinstance(found, Found)
        assert 1 == len(found.matches)

    @owed_if("world.delay", "key=chosen")
    async def test_a_submit_that_arrives_late_starts_nothing_beside_the_second(self, world):
        since = world.now() - timedelta(minutes=1)
        order = world.order()
        world.delay("submit")
        with pytest.raises(Uncertain):
            await world.manager.submit(order)

        handle = await world.manager.submit(order)
        await world.start(handle)
        await world.arrive()
        await world.clock.sleep(world.settling)
        found = await world.manager.find(order.key, since)

        assert 1 == world.starts(order.key)
        assert [(handle.id, Phase.RUNNING)] == [(match.handle.id, match.report.phase) for match in found.matches]

    @owed_if("world.double", "key=chosen")
    async def test_a_submit_that_is_doubled_on_its_way_is_one_job(self, world):
        since = world.now() - timedelta(minutes=1)
        order = world.order()
        world.double("submit")

        handle = await world.manager.submit(order)
        await world.start(handle)
        await world.becomes(handle, Phase.RUNNING)

        assert 1 == world.starts(order.key)
        assert 1 == len((await world.manager.find(order.key, since)).matches)

    @owed_if("world.double", "key=searched", "holds")
    async def test_a_held_submit_that_is_doubled_starts_nothing_and_is_seen_twice(self, world):
        """
        The hold keeps both; which of them may run is then decided by whoever finds them.
        """
        since = world.now() - timedelta(minutes=1)
        order = world.order(held=True)
        world.double("submit")

        await world.manager.submit(order)
        found = await world.manager.find(order.key, since)
        await world.clock.sleep(world.settling)

        assert [True, True] == [match.held for match in found.matches]
        assert 0 == world.starts(order.key)

    @owed_if("world.double")
    async def test_a_cancel_that_is_doubled_on_its_way_is_a_cancel(self, world):
        _, handle = await world.running()
        world.double("cancel")

        await world.manager.cancel(handle)

        await world.becomes(handle, Phase.CANCELLED)

    @owed_if("world.double", "holds")
    async def test_a_release_that_is_doubled_on_its_way_starts_one(self, world):
        order = world.order(held=True)
        handle = await world.manager.submit(order)
        world.double("release")

        await world.manager.release(handle)
        await world.start(handle)
        await world.becomes(handle, Phase.RUNNING)

        assert 1 == world.starts(order.key)

    @owed_if("world.cut", "holds")
    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_a_cut_release_may_be_repeated(self, world, when):
        order = world.order(held=True)
        handle = await world.manager.submit(order)
        world.cut("release", when)

        with pytest.raises(Uncertain):
            await world.manager.release(handle)
        await world.manager.release(handle)
        await world.start(handle)
        await world.becomes(handle, Phase.RUNNING)

        assert 1 == world.starts(order.key)

    @owed_if("world.cut")
    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_a_cut_cancel_may_be_repeated(self, world, when):
        _, handle = await world.running()
        world.cut("cancel", when)

        with pytest.raises(Uncertain):
            await world.manager.cancel(handle)
        await world.manager.cancel(handle)

        await world.becomes(handle, Phase.CANCELLED)

    @owed_if("world.cut", "!key=none")
    @pytest.mark.parametrize("name", READS)
    async def test_a_cut_read_leaves_no_doubt(self, world, name):
        """
        Asking changes nothing, so a silence is `Unavailable`, never `Uncertain`, and asking again works.
        """
        if name == "read" and not world.abilities.output:
            return
        order, handle = await world.running()
        world.cut(name, "after")

        with pytest.raises(Unavailable):
            await call(world, name, order, handle)

        await call(world, name, order, handle)

    @owed_if("world.cut", "world.refuse", "!key=none")
    @pytest.mark.parametrize("name", ["submit", "cancel", *READS])
    @pytest.mark.parametrize("trouble", ["refused", "before", "after"])
    async def test_whatever_goes_wrong_is_told_as_one_of_four(self, world, name, trouble):
        """
        The adapter translates once, at the border: no time-out or socket error comes further in.
        """
        if name == "read" and not world.abilities.output:
            return
        order, handle = await world.running()
        if trouble == "refused":
            world.refuse(name)
        else:
            world.cut(name, trouble)

        with pytest.raises((Mistake, Refused, Unavailable, Uncertain)) as caught:
            await call(world, name, world.order() if name == "submit" else order, handle)

        assert caught.value.message
        assert not caught.value.message.endswith(".")

    @owed_if("world.stall", "!key=none")
    @pytest.mark.parametrize("name", ["submit", "cancel", "find", "observe", "sweep"])
    async def test_a_call_that_is_never_answered_ends_all_the_same(self, world, name):
        """
        Every call is bounded in time, and a silence after a change is a doubt.
        """
        order, handle = await world.running()
        world.stall(name)

        async with asyncio.timeout(world.longest):
            with pytest.raises(Uncertain if name in CHANGES else Unavailable):
                await call(world, name, world.order() if name == "submit" else order, handle)

    @owed_if("world.swell", "!key=none")
    @pytest.mark.parametrize("name", ["submit", "cancel", "find", "observe", "sweep"])
    async def test_an_answer_without_end_is_not_read_to_its_end(self, world, name):
        """
        Every answer is bounded in size: a broken server must not fill our memory.
        """
        order, handle = await world.running()
        world.swell(name)

        with pytest.raises(Uncertain if name in CHANGES else Unavailable):
            await call(world, name, world.order() if name == "submit" else order, handle)

        await world.becomes(handle, Phase.RUNNING, Phase.CANCELLED)

    @owed_if("world.garble", "!key=none")
    @pytest.mark.parametrize("name", ["submit", "find", "observe", "sweep"])
    async def test_an_answer_that_nobody_can_read_is_as_none(self, world, name):
        """
        A page of some proxy with status 200 says nothing: neither that it happened nor that there is no job.
        """
        order, handle = await world.running()
        world.garble(name)

        with pytest.raises(Uncertain if name in CHANGES else Unavailable):
            await call(world, name, world.order() if name == "submit" else order, handle)

    @owed_if("world.rotate")
    async def test_a_new_credential_is_taken_up_without_a_word(self, world):
        """
        Whoever renews a token tells nobody: it is read again, and what is under way goes on.
        """
        order, handle = await world.running()
        world.rotate()

        await world.becomes(handle, Phase.RUNNING)
        await world.manager.submit(world.order())
        await world.manager.cancel(handle)

        await world.becomes(handle, Phase.CANCELLED)
        assert 1 == world.starts(order.key)

    @owed_if("world.lock")
    @pytest.mark.parametrize("name", ["submit", "cancel", "observe"])
    async def test_a_credential_that_is_not_accepted_is_told_as_such(self, world, name):
        """
        Jobs wait for a new credential; nothing has happened to them.
        """
        order, handle = await world.running()
        world.lock()

        with pytest.raises(Unauthorized):
            await call(world, name, world.order() if name == "submit" else order, handle)

        assert 1 == world.starts(order.key)

    @pytest.mark.parametrize("name", ["observe", "cancel"])
    async def test_a_cancelled_call_leaks_nothing_and_may_be_repeated(self, world, name):
        """
        A pass that is stopped in the middle leaves no task behind and no half-open door.
        """
        order, handle = await world.running()
        tasks_before = asyncio.all_tasks()

        await self._cancelled_half_way(world, name, order, handle)

        assert tasks_before == asyncio.all_tasks()
        await call(world, name, order, handle)

    async def test_a_cancelled_submit_may_be_repeated(self, world):
        """
        Whatever became of the first, a chosen key runs once; elsewhere it was not answered, so it is looked for.
        """
        order = world.order()
        await self._cancelled_half_way(world, "submit", order, None)

        if world.abilities.key == "searched":
            answer = await world.manager.find(order.key, world.now() - timedelta(minutes=1))
            assert isinstance(answer, Found | Absent)
            return
        handle = await world.manager.submit(order)
        await world.start(handle)
        await world.becomes(handle, Phase.RUNNING)

        assert 1 == world.starts(order.key)

    async def _cancelled_half_way(self, world, name, order, handle):
        task = asyncio.create_task(call(world, name, order, handle))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError, Error):
            await task
