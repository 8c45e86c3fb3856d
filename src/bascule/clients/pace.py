"""
How often a client may ask: so many times a second, a second's worth at once, and not at all for a while.

The limit is a target's, and not a process's: where a file is given, all who name it share
one row of turns. A file that cannot be had (a full disk, a process frozen while it holds
the lock) leaves each with a row of its own.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

BOOT = Path("/proc/sys/kernel/random/boot_id")
TRIES = 50
LONGEST_ROW = 3600.0


class Pace:
    """Lets callers through at *per_second*; without a limit where that is None."""

    def __init__(self, per_second: float | None, file: Path | None = None) -> None:
        self._gap = 1 / per_second if per_second else 0.0
        self._burst = max(0.0, 1.0 - self._gap)
        self._next = -float("inf")
        self._shared = _Row(file) if file is not None and per_second else None

    async def turn(self) -> None:
        """Wait until it is the caller's turn."""
        if not self._gap:
            return
        # The clock of the machine, where processes share: each loop has one of its own.
        now = time.monotonic() if self._shared else asyncio.get_running_loop().time()
        turn = 0.0

        def take(following: float) -> float:
            nonlocal turn
            turn = max(following, now - self._burst)
            return turn + self._gap

        await self._move(take)
        if turn > now:
            try:
                await asyncio.sleep(turn - now)
            except asyncio.CancelledError:
                # Whoever gave up leaves the turn to the others.
                self._give_back()
                raise

    async def _move(self, change: Callable[[float], float]) -> None:
        for _ in range(TRIES) if self._shared else ():
            if self._shared is not None and self._shared.move(change):
                return
            await asyncio.sleep(0.002)
        self._next = change(self._next)

    def _give_back(self) -> None:
        if self._shared is None or not self._shared.move(lambda following: following - self._gap):
            self._next -= self._gap


class Respite:
    """How long the other side asked to be left alone by this client, whatever the question."""

    def __init__(self) -> None:
        self._until = -float("inf")

    def begin(self, seconds: float) -> None:
        """Leave it alone for *seconds* from now; a longer respite that was asked for stays."""
        self._until = max(self._until, asyncio.get_running_loop().time() + seconds)

    @property
    def left(self) -> float:
        """How many seconds of it are left; 0 where it may be asked."""
        return max(0.0, self._until - asyncio.get_running_loop().time())


class _Row:
    """The time of the next turn, in a file under a lock that is held for an instant."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._boot = BOOT.read_text().strip() if BOOT.exists() else "-"

    def move(self, change: Callable[[float], float]) -> bool:
        """Replace the time by what *change* makes of it; False where the file is not to be had just now."""
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                following = change(self._read(os.pread(descriptor, 200, 0)))
                os.pwrite(descriptor, f"{self._boot} {following:.6f}".ljust(80).encode(), 0)
            finally:
                os.close(descriptor)
            return True
        return False

    def _read(self, content: bytes) -> float:
        boot, _, text = content.decode(errors="replace").strip().partition(" ")
        try:
            following = float(text)
        except ValueError:
            return -float("inf")
        stale = boot != self._boot or following > time.monotonic() + LONGEST_ROW
        return -float("inf") if stale else following
