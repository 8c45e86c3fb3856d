"""The virtual loop itself."""

import asyncio
import time
from datetime import timedelta

import pytest

from tests.virtual import Deadlock, FakeClock, VirtualLoop, run_virtual


def test_waiting_takes_no_time():
    """A sleep of days ends at once, and at the right moment."""

    async def main():
        await asyncio.sleep(86400 * 7)
        return asyncio.get_running_loop().time()

    began = time.monotonic()

    ended = run_virtual(main())

    assert 86400 * 7 == ended
    assert time.monotonic() - began < 10


def test_timers_fire_in_their_order():
    """Time jumps to the nearest timer, never past one."""
    order = []

    async def wait(seconds):
        await asyncio.sleep(seconds)
        order.append(seconds)

    async def main():
        await asyncio.gather(*[wait(seconds) for seconds in (0.3, 0.1, 3600, 0.2)])

    run_virtual(main())

    assert [0.1, 0.2, 0.3, 3600] == order


def test_time_stands_while_somebody_works():
    """A task that only yields does not move time."""

    async def main():
        for _ in range(1000):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert 0 == run_virtual(main())


def test_a_deadlock_says_who_waits_where():
    """Nothing ready and no timer is an error at once, not a test that hangs."""

    async def waits_for_ever():
        await asyncio.Event().wait()

    async def main():
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(waits_for_ever(), name="sleeping beauty")

    with pytest.raises(Deadlock, match=r"(?s)sleeping beauty: Event.wait"):
        run_virtual(main())


def test_time_out_and_cancellation_work():
    """`asyncio.timeout` counts virtual time."""

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert 30 == run_virtual(main())


def test_what_would_be_a_thread_runs_at_once():
    """`asyncio.to_thread` gives its result or its error without a thread."""

    async def main():
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)
        return await asyncio.to_thread(lambda: 7)

    assert 7 == run_virtual(main())


class TestFakeClock:
    loop_factory = VirtualLoop

    async def test_a_step_moves_the_time_of_day_only(self):
        """The time of day may jump; the monotonic clock never does."""
        clock = FakeClock()
        before, ticks = clock.now(), clock.monotonic()

        clock.step(timedelta(hours=-2))
        await clock.sleep(5)

        assert timedelta(hours=-2, seconds=5) == clock.now() - before
        assert 5 == clock.monotonic() - ticks
