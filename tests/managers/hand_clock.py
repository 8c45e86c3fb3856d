"""The clock by which managers and the fakes of their servers go, in tests."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta


class HandClock:
    """A clock that waiting moves, so that a real server can be waited for in no time."""

    def __init__(self) -> None:
        self.start = datetime(2026, 11, 30, 12, tzinfo=UTC)
        self._moved = 0.0

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self._moved)

    def monotonic(self) -> float:
        return self._moved

    def timestamp(self) -> float:
        return self.now().timestamp()

    async def sleep(self, seconds: float) -> None:
        self._moved += seconds
        await asyncio.sleep(0)
