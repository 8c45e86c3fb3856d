"""
Folders of jobs, made in a thread: those that are asked for together in one go.

A file system may hang, so the loop must not touch it; the way to a thread and back costs
as much as a request does.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from bascule.errors import Error
from bascule.managers.slurm.folder import make


class Folders:
    """Makes folders beneath *root*; all methods are for one event loop."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._waiting: list[_Asked] = []
        self._is_making = False

    async def make(self, path: str, user: str) -> None:
        """Make the folder *path*, which *user* may write to; raise `Mistake` where that cannot be."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[None] = loop.create_future()
        self._waiting.append(_Asked(path, user, answer))
        if not self._is_making:
            self._is_making = True
            # Not at once: whoever else is ready in this turn of the loop comes along.
            loop.call_soon(self._start)
        await answer

    def _start(self) -> None:
        batch, self._waiting = self._waiting, []
        made = asyncio.get_running_loop().run_in_executor(None, self._make, batch)
        made.add_done_callback(lambda done: self._deliver(batch, done))

    def _make(self, batch: list[_Asked]) -> list[Error | None]:
        return [_fault_of(self._root, asked) for asked in batch]

    def _deliver(self, batch: list[_Asked], made: asyncio.Future[list[Error | None]]) -> None:
        fault = made.exception()
        faults = [fault] * len(batch) if fault is not None else made.result()
        for asked, own in zip(batch, faults, strict=True):
            if asked.answer.done():
                continue  # whoever asked was cancelled
            if own is not None:
                asked.answer.set_exception(own)
            else:
                asked.answer.set_result(None)
        if self._waiting:
            self._start()
        else:
            self._is_making = False


class _Asked(NamedTuple):
    """A folder, whose it is to be, and where the answer is awaited."""

    path: str
    user: str
    answer: asyncio.Future[None]


def _fault_of(root: str, asked: _Asked) -> Error | None:
    try:
        make(root, asked.path, asked.user)
    except Error as fault:
        return fault
    return None
