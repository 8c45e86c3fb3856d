"""
Processes of a simulation: tasks on one virtual loop that can be killed or frozen together.

Everything a process runs carries the process in its context, so that the loop can ask,
before each step, whether its process still lives. A killed process runs nothing any
more, not even its clean-up; a frozen one finds, when it is thawed, that all its timers are due.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any

from tests.virtual import Deadlock, VirtualLoop

_PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class Endless(Exception):
    """The simulation takes more steps than any life should: something goes round in circles."""


class Process:
    """What is killed and frozen as one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        self.frozen = False
        self.steps = 0
        self._strikes: list[tuple[int, Callable[[], None]]] = []
        self._parked: list[asyncio.Handle] = []

    def start(self, loop: ProcessLoop, main: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Run *main* and all that it starts as this process."""
        context = copy_context()
        context.run(_PROCESS.set, self)
        return loop.create_task(main, name=self.name, context=context)

    def strike(self, steps: int, what: Callable[[], None]) -> None:
        """Let *what* happen to this process before the step that comes after so many more *steps*."""
        self._strikes.append((self.steps + steps, what))
        self._strikes.sort(key=lambda strike: strike[0])

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
        loop.resume(parked)

    def admits(self, step: asyncio.Handle) -> bool:
        """Tell whether the process is in a state to make this *step* now."""
        self.steps += 1
        while self._strikes and self._strikes[0][0] <= self.steps:
            self._strikes.pop(0)[1]()
        if self.dead:
            return False
        if self.frozen:
            self._parked.append(step)
            return False
        return True


class _Step(asyncio.Handle):
    """A callback that knows its process."""

    __slots__ = ("process",)


class _TimedStep(asyncio.TimerHandle):
    """A callback for later that knows its process."""

    __slots__ = ("process",)


class ProcessLoop(VirtualLoop):
    """A virtual loop that knows which process each step belongs to, and gives up after *most_steps*."""

    def __init__(self, *, most_steps: int = 10**9) -> None:
        self._tasks: list[asyncio.Task[Any]] = []
        self._most_steps = most_steps
        self.steps = 0
        super().__init__()
        self.set_task_factory(self._make_task)
        self.set_exception_handler(lambda loop, context: None)

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:
        """Schedule as any loop does, with the process that asks."""
        if context is None:
            context = copy_context()
        step = _Step(callback, args, self, context)
        step.process = context.get(_PROCESS)
        self._ready.append(step)  # type: ignore[attr-defined]
        return step

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        """Schedule as any loop does, with the process that asks."""
        if context is None:
            context = copy_context()
        step = _TimedStep(when, callback, args, self, context)
        step.process = context.get(_PROCESS)
        step._scheduled = True  # type: ignore[attr-defined]
        heapq.heappush(self._scheduled, step)  # type: ignore[attr-defined]
        return step

    def resume(self, steps: list[asyncio.Handle]) -> None:
        """Make *steps* that had to wait, now."""
        self._ready.extend(steps)  # type: ignore[attr-defined]

    def bury(self) -> None:
        """Drop the tasks of the dead, which would otherwise complain, or clean up after their death."""
        self._ready.clear()  # type: ignore[attr-defined]
        for task in self._tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                for _ in range(5):  # a task group waits for its tasks once more each time
                    try:
                        task.get_coro().close()  # type: ignore[union-attr]
                        break
                    except BaseException:  # noqa: BLE001 - whatever it says, it is dead
                        continue
        self._tasks.clear()
        self._ready.clear()  # type: ignore[attr-defined]
        self._scheduled.clear()  # type: ignore[attr-defined]

    def _run_once(self) -> None:
        """One turn, as in asyncio, but with no system call: nothing comes from outside."""
        ready, scheduled = self._ready, self._scheduled  # type: ignore[attr-defined]
        if not ready:
            while scheduled and scheduled[0]._cancelled:
                heapq.heappop(scheduled)
            if not scheduled:
                raise Deadlock("every task waits for another")
            now = self._virtual_now = max(self._virtual_now, scheduled[0]._when)
            while scheduled and scheduled[0]._when <= now:
                ready.append(heapq.heappop(scheduled))
        count = len(ready)
        self.steps += count
        if self.steps > self._most_steps:
            raise Endless(f"no end after {self.steps} steps")
        for _ in range(count):
            step = ready.popleft()
            if not step._cancelled and (step.process is None or step.process.admits(step)):
                step._run()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are dropped when their time has come."""

    def _make_task(self, loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=loop, **options)
        self._tasks.append(task)
        if len(self._tasks) > 2000:
            self._tasks = [one for one in self._tasks if not one.done()]
        return task
