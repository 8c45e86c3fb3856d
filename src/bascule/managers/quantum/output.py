"""Reading what a job left: its results as lines, the service's log as the other stream. Before its end there is nothing."""

from __future__ import annotations

import math
from collections import OrderedDict

from bascule.managers.quantum.bringing import Porter
from bascule.managers.quantum.home import LOG, OUTPUT, Home
from bascule.managers.quantum.service import Service
from bascule.managers.quantum.states import phase_of
from bascule.model import Chunk, Handle
from bascule.ports import Clock, Stream

HOLDS = 2.0
"""Seconds for which a job that was not over is not asked for again: readers come several times a second."""
REMEMBERED = 1000


class Output:
    """What the jobs of one instance left."""

    def __init__(self, service: Service, home: Home, porter: Porter, clock: Clock) -> None:
        self._service = service
        self._home = home
        self._porter = porter
        self._clock = clock
        self._lived: OrderedDict[str, float] = OrderedDict()

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int) -> Chunk:
        """Read a piece; `Manager.read`."""
        if not self._home.has(handle) and not await self._is_brought(handle):
            return Chunk(b"", offset, 0)
        return await self._home.read(handle, OUTPUT if stream == "output" else LOG, offset, limit)

    async def _is_brought(self, handle: Handle) -> bool:
        now = self._clock.monotonic()
        if now - self._lived.get(handle.id, -math.inf) < HOLDS:
            return False
        record = await self._service.job(handle.id)
        phase = phase_of(record) if record is not None else None
        if record is None or phase is None or not phase.is_final:
            self._lived[handle.id] = now
            while len(self._lived) > REMEMBERED:
                self._lived.popitem(last=False)
            return False
        await self._porter.bring(record, handle)
        return True
