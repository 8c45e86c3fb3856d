"""
A home, opened for one command: driven while it is needed, caught up with, and left.

Nobody drives a home in the background unless somebody serves it. So a command that
changes something drives until its wish has come true, and one that reads first lets
the home catch up, for a bounded time.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from bascule.bridge import Bridge, connect
from bascule.cli import logbook, output
from bascule.model import Reason
from bascule.ports import Selector
from bascule.runner import Runner

T = TypeVar("T")

CATCH_UP = 6.0
"""Seconds for which a command that reads waits until what it shows is fresh."""

LEAVE_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Left(Exception):
    """A person or the system asked this process to leave."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number


def run(args: argparse.Namespace, work: Callable[[Bridge], Awaitable[int]], *, drive: bool) -> int:
    """Open the home that *args* name, do *work* in it, and return its code."""
    logbook.set_up(args.verbose)

    async def within() -> int:
        place = {"platform": args.platform, "namespace": args.namespace}
        async with connect(args.home, drive=drive, **place) as bridge:
            return await work(bridge)

    return asyncio.run(within())


async def attended(work: Coroutine[Any, Any, T]) -> T:
    """
    Do *work*; raise `Left` where a signal asks us to leave, once *work* is cancelled.

    A second signal ends the process at once. What was ignored when we were started
    (`nohup`, a job in the background) stays ignored.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    heeded = [number for number in LEAVE_BY if signal.getsignal(number) is not signal.SIG_IGN]
    received: list[int] = []

    def leave(number: int) -> None:
        received.append(number)
        for other in heeded:
            loop.remove_signal_handler(other)
            signal.signal(other, signal.SIG_DFL)
        if task is not None:
            task.cancel()

    for number in heeded:
        loop.add_signal_handler(number, leave, number)
    try:
        return await work
    except asyncio.CancelledError:
        if not received:
            raise
        if task is not None:
            task.uncancel()
        raise Left(received[0]) from None
    finally:
        if not received:
            for number in heeded:
                loop.remove_signal_handler(number)


@asynccontextmanager
async def driving(bridge: Bridge) -> AsyncIterator[None]:
    """Drive while inside, as soon as nobody else does."""
    async with asyncio.TaskGroup() as tasks:
        driver = tasks.create_task(bridge.drive(), name="drive")
        try:
            yield
        finally:
            driver.cancel()
    bridge.store.resign()


async def catch_up(bridge: Bridge, *, within: float = CATCH_UP) -> None:
    """Let what is stored catch up with what is true, for a bounded time, and say what stands in the way."""
    if other := bridge.store.driver():
        if not other.pid:
            return
        if other.is_stopped:
            output.say(f"bascule: {other} drives this home, so nothing moves")
            output.hint(f"`kill -CONT {other.pid}` lets it go on, `kill {other.pid}` ends it; the jobs are not hurt")
        await _say_who_was_silent(bridge)
        return
    live = [job async for job in bridge.store.list(Selector(live=True, limit=1))]
    if not live:
        return
    async with driving(bridge):
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await (await _runner_of(bridge)).caught_up()
        _say_who_is_silent(bridge)
    await _say_what_waits(bridge)


async def _runner_of(bridge: Bridge) -> Runner:
    while bridge.runner is None:  # noqa: ASYNC110 - a fraction of a second, and no event to wait for
        await asyncio.sleep(0.01)
    return bridge.runner


def _say_who_is_silent(bridge: Bridge) -> None:
    """Say which targets did not answer us."""
    for connection in bridge.runner.connections.all() if bridge.runner else ():
        if connection.reachable is False:
            _say_silent(connection.target.name, connection.silence)
        elif connection.reachable is None and len(connection.monitor):
            _say_silent(connection.target.name, f"no answer yet, after {CATCH_UP:g} s")


async def _say_who_was_silent(bridge: Bridge) -> None:
    """Say which targets did not answer whoever drives, as far as jobs need them."""
    async for target in bridge.store.targets():
        for condition in target.status.conditions:
            if condition.type != "Reachable" or condition.status != "False":
                continue
            if [job async for job in bridge.store.list(Selector(target=target.name, live=True, limit=1))]:
                _say_silent(target.name, condition.message)


def _say_silent(name: str, why: str) -> None:
    output.say(f"bascule: target `{name}` cannot be reached: {output.clean(why)}")
    output.hint(f"what is shown may be old; `bascule target check {name}` goes step by step")


async def _say_what_waits(bridge: Bridge) -> None:
    """Say what will not go on by itself when this command has ended."""
    waiting = {Reason.WAITING_FOR_JOB: "for other jobs", Reason.RETRYING: "to be tried again"}
    reasons = [job.status.reason async for job in bridge.store.list(Selector(live=True))]
    for reason, what in waiting.items():
        if count := reasons.count(reason):
            output.say(f"{count} {'job waits' if count == 1 else 'jobs wait'} {what}, and nobody drives this home")
            output.hint("`bascule serve` keeps everything moving, `bascule wait NAME` until that job is over")
