"""Many writes are made durable together, and none is hurt by another."""

from __future__ import annotations

import asyncio

import pytest

from bascule.errors import Conflict
from bascule.platforms.embedded import open_store
from bascule.ports import Selector
from tests.platforms.embedded_world import EmbeddedWorld, ThreadedWorld
from tests.virtual import FakeClock


@pytest.fixture
async def world(tmp_path):
    async with ThreadedWorld(tmp_path) as world:
        yield world


class TestOneOfMany:
    """A write that fails does not hurt those that are written with it."""

    async def test_a_conflict_among_others(self, world):
        await world.stored("taken")
        names = ["a", "taken", "b"]

        answers = await asyncio.gather(*(world.stored(name) for name in names), return_exceptions=True)

        assert [False, True, False] == [isinstance(answer, Conflict) for answer in answers]
        assert ["taken", "a", "b"] == await world.names(Selector())

    async def test_a_bug_among_others(self, world):
        """
        It reaches only whoever caused it, and what it wrote before is undone.
        """

        def bug(transaction):
            transaction.execute("DELETE FROM jobs")
            raise ZeroDivisionError

        before = await world.stored()
        answers = await asyncio.gather(
            world.stored("a"), world.front._writer.write(bug), world.stored("b"), return_exceptions=True
        )

        assert isinstance(answers[1], ZeroDivisionError)
        assert [before.name, "a", "b"] == await world.names(Selector())

    async def test_an_error_after_a_change_is_undone(self, world):
        def late(transaction):
            transaction.execute("DELETE FROM jobs")
            raise Conflict("too late")

        before = await world.stored()
        answers = await asyncio.gather(
            world.stored("a"), world.front._writer.write(late), world.stored("b"), return_exceptions=True
        )

        assert isinstance(answers[1], Conflict)
        assert [before.name, "a", "b"] == await world.names(Selector())

    async def test_who_asks_at_once_shares_a_transaction(self, world):
        written = []
        pen = world.front._writer._pen
        write, pen.write = pen.write, lambda works: written.append(len(works)) or write(works)

        await asyncio.gather(*(world.stored() for _ in range(100)))

        assert [100] == written

    async def test_who_was_cancelled_does_not_hurt_the_others(self, world):
        async with asyncio.TaskGroup() as tasks:
            gone = tasks.create_task(world.stored("gone"))
            stays = tasks.create_task(world.stored("stays"))
            await asyncio.sleep(0)
            gone.cancel()

        assert stays.result() == await world.front.get(stays.result().ref)

    async def test_closing_waits_for_what_was_asked(self, tmp_path):
        async with asyncio.TaskGroup() as tasks, open_store(tmp_path, FakeClock()) as store:
            asked = [tasks.create_task(store.create(EmbeddedWorld(tmp_path).job(f"{n}"))) for n in range(20)]
            await asyncio.sleep(0)

        async with open_store(tmp_path, FakeClock()) as store:
            assert [await task for task in asked] == [job async for job in store.list(Selector())]

    async def test_a_closed_store_says_so(self, tmp_path):
        async with open_store(tmp_path, FakeClock()) as store:
            pass

        with pytest.raises(RuntimeError, match="closed"):
            await store.create(EmbeddedWorld(tmp_path).job("late"))
