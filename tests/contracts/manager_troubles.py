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
