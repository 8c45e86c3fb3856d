"""What will happen outside, and when: caught up with whenever somebody looks."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from bascule.ports import Clock


class Agenda:
    """Things to happen at their own moments, of which each sees the time it was due."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = 0
        self._busy = False
        self.at = 0.0

    def later(self, seconds: float, happen: Callable[[], None]) -> None:
        """Let *happen* be called in so many *seconds*."""
        self._sequence += 1
        heapq.heappush(self._entries, (self.at + seconds, self._sequence, happen))

    def catch_up(self) -> None:
        """Let everything happen whose time has come; one thing may look at another meanwhile."""
        if self._busy:
            return
        self._busy = True
        try:
            now = self._clock.monotonic()
            while self._entries and self._entries[0][0] <= now:
                due, _, happen = heapq.heappop(self._entries)
                self.at = max(self.at, due)
                happen()
            self.at = max(self.at, now)
        finally:
            self._busy = False
