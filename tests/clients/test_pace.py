from __future__ import annotations

import asyncio

import pytest

from bascule.clients.pace import Pace
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop


async def test_without_a_limit_nobody_waits():
    pace = Pace(None)

    for _ in range(1000):
        await pace.turn()

    assert 0 == asyncio.get_running_loop().time()


async def test_no_more_than_so_many_in_a_second_are_let_through():
    pace, times = Pace(5), []

    async def ask():
        await pace.turn()
        times.append(asyncio.get_running_loop().time())

    await asyncio.gather(*(ask() for _ in range(20)))

    assert 5 == sum(time == 0 for time in times)
    assert 3.0 == pytest.approx(max(times))


async def test_less_than_one_a_second():
    pace = Pace(0.1)

    await pace.turn()
    await pace.turn()

    assert 10 == pytest.approx(asyncio.get_running_loop().time())


async def test_whoever_gives_up_leaves_the_turn_to_others():
    pace = Pace(1)
    await pace.turn()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pace.turn(), 0.5)
    await pace.turn()

    assert 1 == pytest.approx(asyncio.get_running_loop().time())
