"""How often a client may ask: so many times a second, a second's worth at once."""

from __future__ import annotations

import asyncio


class Pace:
    """Lets callers through at *per_second*; without a limit where that is None."""

    def __init__(self, per_second: float | None) -> None:
        self._gap = 1 / per_second if per_second else 0.0
        self._burst = max(0.0, 1.0 - self._gap)
        self._next = -float("inf")

    async def turn(self) -> None:
        """Wait until it is the caller's turn."""
        if not self._gap:
            return
        now = asyncio.get_running_loop().time()
        turn = max(self._next, now - self._burst)
        self._next = turn + self._gap
        if turn > now:
            try:
                await asyncio.sleep(turn - now)
            except asyncio.CancelledError:
                self._next -= self._gap  # whoever gave up leaves the turn to the others
                raise
