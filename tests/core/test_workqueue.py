"""The keyed queue: one look at a time for each key, nobody starved, nothing forgotten."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from bascule.errors import Conflict, Fenced, Unavailable
from bascule.workqueue import KeyedQueue
from tests.virtual import FakeClock, VirtualLoop


@asynccontextmanager
async def working(queue, look, *, workers=4):
    """Work on *queue*, at most *workers* keys at once, while the block runs."""
    tasks = [asyncio.ensure_future(queue.run(look, most=workers))]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


class TestKeys:
    loop_factory = VirtualLoop

    async def test_a_key_added_twice_is_looked_at_once(self):
        """What waits already is not queued again."""
        queue, seen = KeyedQueue(FakeClock()), []

        async def look(key):
            seen.append(key)

        queue.add("a")
        queue.add("a")
        async with working(queue, look):
            await asyncio.sleep(1)

        assert ["a"] == seen

    async def test_a_key_is_never_looked_at_twice_at_once(self):
        """A key added while it is worked on gets another look afterwards."""
        queue, running, most, looks = KeyedQueue(FakeClock()), 0, 0, 0

        async def look(key):
            nonlocal running, most, looks
            running += 1
            looks += 1
            most = max(most, running)
            await asyncio.sleep(1)
            running -= 1

        async with working(queue, look):
            queue.add("a")
            await asyncio.sleep(0.5)
            queue.add("a")
            queue.add("a")
            await asyncio.sleep(5)

        assert (1, 2) == (most, looks)

    async def test_the_earliest_of_several_delays_wins(self):
        """A later wish does not put off an earlier one, and is not kept beside it."""
        queue, times = KeyedQueue(FakeClock()), []

        async def look(key):
            times.append(asyncio.get_running_loop().time())

        queue.add_later("a", 50)
        queue.add_later("a", 10)
        queue.add_later("a", 90)
        async with working(queue, look):
            await asyncio.sleep(200)

        assert [10] == times

    async def test_what_a_look_returns_is_when_to_look_again(self):
        """Waiting for the outside world is no error."""
        queue, times = KeyedQueue(FakeClock()), []

        async def look(key):
            times.append(asyncio.get_running_loop().time())
            return 7.0 if len(times) < 3 else None

        queue.add("a")
        async with working(queue, look):
            await asyncio.sleep(100)

        assert [0, 7, 14] == times


class TestTroubles:
    loop_factory = VirtualLoop

    async def test_an_error_backs_off_its_own_key_only(self):
        """The other keys go on at once."""
        queue, looks = KeyedQueue(FakeClock()), []

        async def look(key):
            looks.append((key, asyncio.get_running_loop().time()))
            if key == "bad":
                raise Unavailable("no answer")

        queue.add("bad")
        queue.add("good")
        async with working(queue, look, workers=1):
            await asyncio.sleep(4)

        assert [("good", 0)] == [look for look in looks if look[0] == "good"]
        assert [0, 0.5, 1.5, 3.5] == [time for key, time in looks if key == "bad"]

    async def test_a_bug_costs_one_key_a_back_off(self, caplog):
        """An unforeseen exception ends neither the worker nor the process."""
        queue, looks = KeyedQueue(FakeClock()), []

        async def look(key):
            looks.append(key)
            if len(looks) == 1:
                raise ZeroDivisionError

        queue.add("a")
        async with working(queue, look, workers=1) as tasks:
            await asyncio.sleep(2)
            alive = [task for task in tasks if not task.done()]

        assert ["a", "a"] == looks
        assert 1 == len(alive)

    async def test_a_conflict_is_looked_at_again_at_once(self):
        """Somebody else wrote: read again, without waiting."""
        queue, times = KeyedQueue(FakeClock()), []

        async def look(key):
            times.append(asyncio.get_running_loop().time())
            if len(times) == 1:
                raise Conflict("moved")

        queue.add("a")
        async with working(queue, look):
            await asyncio.sleep(5)

        assert [0, 0] == times

    async def test_fenced_ends_the_worker(self):
        """Whoever lost the right to act must stop."""
        queue = KeyedQueue(FakeClock())

        async def look(key):
            raise Fenced("taken over")

        queue.add("a")

        with pytest.raises(ExceptionGroup) as raised:
            await queue.run(look)
        assert raised.group_contains(Fenced)

    async def test_retry_after_is_obeyed(self):
        """The other side named a time."""
        queue, times = KeyedQueue(FakeClock()), []

        async def look(key):
            times.append(asyncio.get_running_loop().time())
            if len(times) == 1:
                raise Unavailable("slow down", retry_after=33)

        queue.add("a")
        async with working(queue, look):
            await asyncio.sleep(100)

        assert [0, 33] == times


class TestGroups:
    loop_factory = VirtualLoop

    async def test_a_hanging_group_leaves_workers_to_the_others(self):
        """One target that hangs delays only its own jobs."""
        queue, done = KeyedQueue(FakeClock(), per_group=2), []

        async def look(key):
            if key[0] == "hangs":
                await asyncio.sleep(1000)
            done.append((key, asyncio.get_running_loop().time()))

        for number in range(10):
            queue.add(("hangs", number), "hangs")
        for number in range(10):
            queue.add(("fine", number), "fine")
        async with working(queue, look, workers=4):
            await asyncio.sleep(10)

        assert 10 == len(done)
        assert {0} == {time for _, time in done}
