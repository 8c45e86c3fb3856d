"""
Virtual time: an event loop on which waiting takes no time.

When nothing is ready, time jumps to the next timer; when there is no timer either, the
program would wait for ever, and `Deadlock` says who waits where. Calls for threads are
made at once, in the loop's own thread, so that the same test takes the same course.

A test class or module runs on it by ``loop_factory = VirtualLoop`` in its body, in folders whose
``conftest.py`` has the line ``from tests.virtual import pytest_asyncio_loop_factories``.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple, Unpack

import pytest

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

START = datetime(2026, 1, 1, tzinfo=UTC)


class Deadlock(Exception):
    """Nothing is ready and no timer runs: the tasks in the message would wait for ever."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time moves only when nobody has anything to do."""

    def __init__(self) -> None:
        self._virtual_now = 0.0
        super().__init__(_JumpingSelector(self._jump))
        self._clock_resolution = 1e-9

    def time(self) -> float:
        """Return the virtual seconds since the loop was made."""
        return self._virtual_now

    def run_in_executor(self, executor: object, func: Callable[[Unpack[Ts]], T], *args: *Ts) -> asyncio.Future[T]:
        """Call *func* now: threads would make the course of a test a matter of luck."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - it goes to whoever awaits
            future.set_exception(error)
        return future

    def _jump(self) -> None:
        """Move time to the next timer."""
        timers = self._scheduled  # type: ignore[attr-defined]
        if not timers:
            raise Deadlock(f"every task waits for another:\n{_waiting(self)}")
        self._virtual_now = max(self._virtual_now, timers[0].when())


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that never blocks: where it would, *jump* moves time instead."""

    def __init__(self, jump: Callable[[], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; let time jump where that is nothing and *timeout* allows it."""
        ready = super().select(0)
        if not ready and timeout != 0:
            self._jump()
        return ready


def _waiting(loop: asyncio.AbstractEventLoop) -> str:
    """Return a line for each task that is not done, with the place where it waits."""
    lines = []
    for task in sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name()):
        place: Any = task.get_coro()
        where = ""
        while place is not None and getattr(place, "cr_frame", None) is not None:
            frame = place.cr_frame
            where = f"{frame.f_code.co_qualname} ({frame.f_code.co_filename}:{frame.f_lineno})"
            place = place.cr_await
        lines.append(f"  {task.get_name()}: {where}")
    return "\n".join(lines)


class FakeClock:
    """`ports.Clock` over the loop's virtual time; `step` makes the time of day jump, as NTP or a person would."""

    def __init__(self, start: datetime = START) -> None:
        self.start = start
        self.stepped = timedelta(0)

    def now(self) -> datetime:
        """Return the time of day."""
        return self.start + self.stepped + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """Return the loop's time, which never steps."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait, which takes no time."""
        await asyncio.sleep(seconds)

    def step(self, by: timedelta) -> None:
        """Set the time of day forth or back."""
        self.stepped += by


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run *main* on a loop of its own in virtual time, for tests that are no coroutines."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run each test on the `loop_factory` of its class or module, else on a loop in real time."""
    for place in (getattr(item, "cls", None), getattr(item, "module", None)):
        factory = getattr(place, "loop_factory", None)
        if factory is not None:
            return {"own": factory}
    return {"real": asyncio.new_event_loop}
