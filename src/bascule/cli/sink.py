"""
Where a job's bytes go: unchanged, to a descriptor, by a thread of its own.

A reader that is slow (a pager, a full pipe) holds up what it reads and nothing else: the
loop goes on driving all jobs of the home.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import NamedTuple

from bascule.cli.output import unwritable


class _Piece(NamedTuple):
    data: bytes
    loop: asyncio.AbstractEventLoop
    written: asyncio.Future[None]

    def tell(self, fault: OSError | None) -> None:
        if self.written.done():
            return  # whoever wrote was cancelled
        if fault is None:
            self.written.set_result(None)
        else:
            self.written.set_exception(unwritable(fault))


class Sink:
    """A descriptor that takes bytes; *ends_line* tells whether what was written last ends one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pieces: SimpleQueue[_Piece] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self.ends_line = True

    async def write(self, data: bytes) -> None:
        """Write all of *data*; raise `BrokenPipeError` where nobody reads any more."""
        if self._thread is None:
            # A daemon: one that hangs in a full pipe must not keep the process from leaving.
            self._thread = threading.Thread(target=self._work, name=f"write to {self._descriptor}", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        piece = _Piece(data, loop, loop.create_future())
        self._pieces.put(piece)
        await piece.written

    def _work(self) -> None:
        while True:
            piece = self._pieces.get()
            fault = self._write(piece.data)
            if piece.data:  # at once: a word of ours may come before the loop has heard of it
                self.ends_line = piece.data.endswith(b"\n")
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                piece.loop.call_soon_threadsafe(piece.tell, fault)

    def _write(self, data: bytes) -> OSError | None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as fault:
            return fault
        return None
