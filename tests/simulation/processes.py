"""
Processes of a simulation: tasks on one virtual loop that can be killed or frozen together.

Everything a process runs carries the process in its context, so that the loop can ask,
before each callback, whether its process still lives. A killed process runs nothing any
more, not even its clean-up; a frozen one finds, when it is thawed, that all its timers are due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from typing import Any

from tests.virtual import VirtualLoop

_PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class Process:
    """What is killed and frozen as one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        self.frozen = False
        self.steps = 0
        self.strikes: list[tuple[int, Callable[[], None]]] = []
        self._parked: list[tuple[Callable[..., object], tuple[Any, ...], Context, asyncio.Handle]] = []

    def start(self, loop: ProcessLoop, main: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Run *main* and all that it starts as this process."""
        context = copy_context()
        context.run(_PROCESS.set, self)
        return loop.create_task(main, name=self.name, context=context)

    def strike(self, steps: int, what: Callable[[], None]) -> None:
        """Let *what* happen to this process before its callback after so many more *steps*."""
        self.strikes.append((self.steps + steps, what))

    def kill(self) -> None:
        """Run nothing of it any more."""
        self.dead = True
        self._parked.clear()

    def freeze(self) -> None:
        """Run nothing of it until it is thawed."""
        self.frozen = True

    def thaw(self, loop: ProcessLoop) -> None:
        """Let it go on where it was."""
        self.frozen = False
        parked, self._parked = self._parked, []
        for callback, args, context, handle in parked:
            if not handle.cancelled():
                loop.call_soon(callback, *args, context=context)

    def run(
        self, callback: Callable[..., object], args: tuple[Any, ...], context: Context, cell: list[asyncio.Handle]
    ) -> None:
        """Run one callback, if the process is in a state to."""
        self.steps += 1
        while self.strikes and self.strikes[0][0] <= self.steps:
            self.strikes.pop(0)[1]()
        if self.dead:
            return
        if self.frozen:
            self._parked.append((callback, args, context, cell[0]))
            return
        callback(*args)


class ProcessLoop(VirtualLoop):
    """A virtual loop that knows which process each callback belongs to."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []
        super().__init__()
        self.set_task_factory(self._make_task)
        self.set_exception_handler(lambda loop, context: None)

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:
        """Schedule as the loop does, behind the process's gate."""
        context = context if context is not None else copy_context()
        process = context.get(_PROCESS)
        if process is None:
            return super().call_soon(callback, *args, context=context)
        cell: list[asyncio.Handle] = []
        handle = super().call_soon(process.run, callback, args, context, cell, context=context)
        cell.append(handle)
        return handle

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        """Schedule as the loop does, behind the process's gate."""
        context = context if context is not None else copy_context()
        process = context.get(_PROCESS)
        if process is None:
            return super().call_at(when, callback, *args, context=context)
        cell: list[asyncio.Handle] = []
        handle = super().call_at(when, process.run, callback, args, context, cell, context=context)
        cell.append(handle)
        return handle

    def bury(self) -> None:
        """Drop the tasks of the dead, which would otherwise complain, or clean up after their death."""
        self._ready.clear()  # type: ignore[attr-defined]
        for task in self._tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                with suppress(BaseException):
                    task.get_coro().close()  # type: ignore[union-attr]
        self._tasks.clear()
        self._ready.clear()  # type: ignore[attr-defined]
        self._scheduled.clear()  # type: ignore[attr-defined]

    def _make_task(self, loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=loop, **options)
        self._tasks.append(task)
        if len(self._tasks) > 2000:
            self._tasks = [one for one in self._tasks if not one.done()]
        return task
