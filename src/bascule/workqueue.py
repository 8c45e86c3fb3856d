"""
A queue of keys that need another look.

A key that is added twice is worked on once; a key that is added while it is worked on
is worked on again afterwards, never at the same time. Keys may be added with a delay,
and the earliest time wins. Keys belong to groups (a target), and only so many keys of a
group are worked on at once: one that hangs delays only itself.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from bascule.errors import Conflict, Error, Fenced, Unavailable
from bascule.journal import Logger
from bascule.ports import Clock

K = TypeVar("K", bound=Hashable)
FIRST_BACKOFF = 0.5
LONGEST_BACKOFF = 60.0
log = Logger(__name__)


class KeyedQueue(Generic[K]):
    """De-duplicates, delays, backs off, and never gives out one key twice at once."""

    def __init__(self, clock: Clock, *, per_group: int = 16) -> None:
        self._clock = clock
        self._per_group = per_group
        self._ready: dict[Hashable, deque[K]] = {}
        self._turns: deque[Hashable] = deque()
        self._queued: set[K] = set()
        self._delayed: list[tuple[float, int, K, Hashable]] = []
        self._due: dict[K, float] = {}
        self._running: dict[K, Hashable] = {}
        self._again: dict[K, Hashable] = {}
        self._busy: dict[Hashable, int] = {}
        self._failures: dict[K, int] = {}
        self._serial = 0
        self._moved = asyncio.Event()

    def __len__(self) -> int:
        """How many keys wait or are worked on, apart from delayed ones."""
        return len(self._queued) + len(self._running)

    def add(self, key: K, group: Hashable = None) -> None:
        """Ask for a look at *key* as soon as may be."""
        self._due.pop(key, None)
        if key in self._running:
            self._again[key] = group
        elif key not in self._queued:
            self._queued.add(key)
            waiting = self._ready.get(group)
            if waiting is None:
                self._ready[group] = waiting = deque()
                self._turns.append(group)
            waiting.append(key)
            self._moved.set()

    def add_later(self, key: K, seconds: float, group: Hashable = None) -> None:
        """Ask for a look at *key* in *seconds*, or earlier if that was asked before."""
        if seconds <= 0:
            self.add(key, group)
            return
        due = self._clock.monotonic() + seconds
        if key in self._queued or self._due.get(key, due + 1) <= due:
            return
        self._due[key] = due
        self._serial += 1
        heapq.heappush(self._delayed, (due, self._serial, key, group))
        if self._delayed[0][2] == key:
            self._moved.set()

    def forget(self, key: K) -> None:
        """Drop what is kept about *key*: it is gone. Who asked for another look gets it: there may be a new one."""
        self._due.pop(key, None)
        self._failures.pop(key, None)

    async def run(self, look: Callable[[K], Awaitable[float | None]], *, most: int = 512) -> None:
        """
        *Look* at key after key, at most *most* at once, until cancelled.

        What *look* returns is when to look again, in seconds. An error backs the key
        off; `Fenced` ends it all, and with it the process's right to act.
        """
        places = asyncio.Semaphore(most)
        async with asyncio.TaskGroup() as tasks:
            while True:
                await places.acquire()
                key, group = await self._take()
                task = tasks.create_task(self._look_once(look, key, group), name=f"look at {key}")
                task.add_done_callback(lambda _: places.release())

    async def _look_once(self, look: Callable[[K], Awaitable[float | None]], key: K, group: Hashable) -> None:
        again: float | None = None
        try:
            again = await look(key)
            self._failures.pop(key, None)
        except Fenced:
            raise
        except Conflict:
            again = 0.0
        except Unavailable as trouble:
            again = trouble.retry_after or self._back_off(key)
            log.warning("work.unavailable", key=str(key), error=str(trouble), again_in=again)
        except Error as trouble:
            again = self._back_off(key)
            log.warning("work.failed", key=str(key), error=str(trouble), again_in=again)
        except Exception:
            # The one place where a bug may not end the process: it costs one key a back-off.
            again = self._back_off(key)
            log.exception("work.bug", key=str(key), again_in=again)
        finally:
            self._give_back(key, group)
        if again is not None:
            self.add_later(key, again, group)

    async def _take(self) -> tuple[K, Hashable]:
        while True:
            self._wake_due()
            for _ in range(len(self._turns)):
                group = self._turns.popleft()
                waiting = self._ready[group]
                if self._busy.get(group, 0) >= self._per_group:
                    self._turns.append(group)
                    continue
                key = waiting.popleft()
                if waiting:
                    self._turns.append(group)
                else:
                    del self._ready[group]
                self._queued.discard(key)
                self._running[key] = group
                self._busy[group] = self._busy.get(group, 0) + 1
                return key, group
            self._moved.clear()
            left = self._delayed[0][0] - self._clock.monotonic() if self._delayed else None
            try:
                async with asyncio.timeout(left):
                    await self._moved.wait()
            except TimeoutError:
                pass

    def _wake_due(self) -> None:
        now = self._clock.monotonic()
        while self._delayed and self._delayed[0][0] <= now:
            due, _, key, group = heapq.heappop(self._delayed)
            if self._due.get(key) == due:
                self.add(key, group)

    def _give_back(self, key: K, group: Hashable) -> None:
        del self._running[key]
        self._busy[group] -= 1
        if not self._busy[group]:
            del self._busy[group]
        self._moved.set()
        if key in self._again:
            self.add(key, self._again.pop(key))

    def _back_off(self, key: K) -> float:
        failures = self._failures.get(key, 0) + 1
        self._failures[key] = failures
        return min(FIRST_BACKOFF * 2.0 ** (failures - 1), LONGEST_BACKOFF)
