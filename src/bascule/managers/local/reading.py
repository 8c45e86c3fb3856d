"""
Read many states cheaply: a file is opened only when it is another than last time.

States are replaced as a whole, so that a file's inode and time tell whether there is
anything new; and one time of the spool tells whether any has changed at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from bascule.managers.local.records import State
from bascule.managers.local.reports import ACCEPTED, report_of
from bascule.managers.local.spool import Spool
from bascule.model import Absent, Answer, CannotTell, Handle
from bascule.ports import Stream

_MOST_KEPT = 20_000


class _Seen(NamedTuple):
    inode: int
    time: int
    size: int
    answer: Answer


class Place(NamedTuple):
    """A file, and where in it what a job writes begins."""

    path: str
    begin: int


class Reader:
    """What was last read of each job of a spool."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._jobs = f"{spool.jobs}/"
        self._seen: dict[str, _Seen] = {}

    def moment(self, handles: Iterable[Handle]) -> str:
        """Return a cursor: it is another as soon as a state has changed, or it is about other jobs."""
        try:
            told = self._spool.news.stat().st_mtime_ns
        except OSError:
            return ""
        return f"{told}-{hash(frozenset(handle.id for handle in handles)):x}"

    def answer(self, key: str) -> Answer:
        """Return what the spool says of *key*."""
        try:
            found = os.stat(f"{self._jobs}{key}/state")  # noqa: PTH116 - a Path per job and look costs more than the look
        except FileNotFoundError:
            return self._unseen(key)
        except OSError as trouble:
            return CannotTell(f"its state cannot be read: {trouble.strerror}")
        seen = self._seen.get(key)
        if seen is not None and seen[:3] == (found.st_ino, found.st_mtime_ns, found.st_size):
            return seen.answer
        answer = self._read(key)
        if len(self._seen) >= _MOST_KEPT:
            self._seen.clear()
        self._seen[key] = _Seen(found.st_ino, found.st_mtime_ns, found.st_size, answer)
        return answer

    def is_held(self, key: str) -> bool:
        """Tell whether a submit in two phases has not been released yet."""
        # In this order: a wish is taken away only after the state has been changed by it.
        if self._spool.wishes.is_left(key, "release"):
            return False
        state = self._state(key)
        if state is not None:
            return state.ours and not state.is_over
        outline = self._spool.outline(key)
        return outline is not None and outline.ours

    def place_of(self, key: str, stream: Stream) -> Place | None:
        """Return where a job, or a task, writes to; None before it has started."""
        state = self._state(key)
        if state is None or not state.output:
            return None
        if stream == "output":
            return Place(state.output, state.output_from)
        return Place(state.error, state.error_from)

    def _read(self, key: str) -> Answer:
        state = self._state(key)
        return report_of(state) if state is not None else CannotTell("its state is damaged on the disk")

    def _state(self, key: str) -> State | None:
        try:
            return self._spool.state(key)
        except OSError:
            return None

    def _unseen(self, key: str) -> Answer:
        try:
            if self._spool.folder(key).is_dir():
                return ACCEPTED
            self._spool.place.parent.stat()
        except OSError as trouble:
            return CannotTell(f"`{trouble.filename}` cannot be read: {trouble.strerror}")
        return Absent(f"there is no folder `{key}` in `{self._spool.jobs}`", datetime.now(UTC))
