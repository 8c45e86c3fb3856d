"""
How often jobs may be submitted: the service takes five in a minute.

A sliding window, so that five may go at once; all processes of a home share it through a
file. Where that cannot be had, each has a window of its own.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path

from bascule.ports import Clock

WINDOW = 60.0
ROOM = 64 << 10


class Turnstile:
    """Lets *most* through in a minute; 0 is no limit."""

    def __init__(self, most: int, file: Path | None, clock: Clock) -> None:
        self._most = most
        self._file = file
        self._clock = clock
        self._own: list[float] = []
        self._closed_until = 0.0
        self._taking = asyncio.Lock()

    def close_for(self, seconds: float) -> None:
        """Let nobody through for so many *seconds*: the service asked for it."""
        self._closed_until = max(self._closed_until, self._clock.monotonic() + seconds)

    async def turn(self) -> float:
        """
        Wait until it is the caller's turn; return the seconds that this was meant to take.

        Whoever is cancelled meanwhile has not gone through.
        """
        waited = 0.0
        while (wait := self._closed_until - self._clock.monotonic()) > 0:
            await self._clock.sleep(wait)
            waited += wait
        while self._most:
            async with self._taking:
                wait = await asyncio.to_thread(self._take)
            if wait <= 0:
                break
            await self._clock.sleep(wait)
            waited += wait
        return waited

    def _take(self) -> float:
        """Go through and return 0, or return the seconds until that may be tried again."""
        if self._file is not None:
            with suppress(OSError, ValueError):
                return self._take_shared(self._file)
        wait, self._own = self._after(self._own)
        return wait

    def _take_shared(self, file: Path) -> float:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # A process that is frozen while it holds the lock holds nobody else.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = os.pread(descriptor, ROOM, 0)
            try:
                before = [float(each) for each in json.loads(content or b"[]")]
            except (ValueError, TypeError):
                before = []
            wait, after = self._after(before)
            if wait <= 0:
                data = json.dumps(after).encode()
                os.pwrite(descriptor, data, 0)
                os.ftruncate(descriptor, len(data))
            return wait
        finally:
            os.close(descriptor)

    def _after(self, before: list[float]) -> tuple[float, list[float]]:
        now = self._clock.now().timestamp()
        # What lies ahead of us was written before the clock was set back.
        recent = [at for at in before if now - WINDOW < at <= now]
        if len(recent) >= self._most:
            return max(recent[-self._most] + WINDOW - now, 0.05), recent
        return 0.0, [*recent, now]
