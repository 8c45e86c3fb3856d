"""How a manager lets the supervisor look, and has one started where none lives."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from bascule.errors import Unavailable
from bascule.managers.local.spool import Spool
from bascule.managers.local.summon import summon

_SUMMON_AGAIN = 1.0  # seconds that a supervisor has to come up


class Waker:
    """Reaches the supervisor of one home."""

    def __init__(self, spool: Spool, home: Path, *, idle: float, contain: bool) -> None:
        self._spool = spool
        self._home = home
        self._idle = idle
        self._contain = contain
        self._summoned_at: float | None = None

    def tell(self) -> bool:
        """Let the supervisor look; False where there is none."""
        try:
            return self._spool.wake()
        except OSError:
            return False

    async def wake(self) -> None:
        """Let the supervisor look; where none can be started, the next observation tries again, and says so."""
        if not self.tell():
            with contextlib.suppress(Unavailable):
                await self._summon()

    async def see_to(self, new: Sequence[str], *, lives: bool) -> None:
        """Have somebody go on with jobs, of which *new* are not known to be announced."""
        for key in new:
            with contextlib.suppress(OSError):
                self._spool.wishes.leave(key, "new")  # whoever submitted it may have been killed before it could say so
        if not lives or (new and not self.tell()):
            await self._summon()

    async def _summon(self) -> None:
        now = time.monotonic()
        if self._summoned_at is not None and now - self._summoned_at < _SUMMON_AGAIN:
            return
        self._summoned_at = now
        try:
            await asyncio.to_thread(summon, self._home, idle=self._idle, contain=self._contain)
        except (OSError, ValueError, subprocess.SubprocessError) as trouble:
            raise Unavailable(f"`local` cannot start its supervisor: {trouble}") from trouble
