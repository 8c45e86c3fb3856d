"""
Ray writes two lines of its own into a job's log; they are taken out, so that a log is what the job wrote.

The first stands at its beginning. The second repeats the entrypoint and may come into the middle
of what the job has written by then, even of a line. Both are taken out the same way however the log
comes, whole or in pieces: a position in what is left always means the same byte.
"""

from __future__ import annotations

import re

_FIRST = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\tINFO job_manager\.py:\d+ -- Runtime env is setting up\.\n")
_LONGEST_FIRST = 200


class OwnLines:
    """Takes Ray's lines out of one log, piece by piece."""

    def __init__(self, id_: str, entrypoint: str) -> None:
        # Ray reads its log as text, where every kind of line end becomes one.
        line = f"Running entrypoint for job {id_}: {entrypoint}\n".replace("\r\n", "\n").replace("\r", "\n")
        self._second = line.encode(errors="surrogateescape")
        self._kept = b""
        self._is_begun = False
        self._is_done = False

    def without(self, piece: bytes, *, is_last: bool = False) -> bytes:
        """Return what of the log is the job's and certain, now that *piece* has come; all of it where it *is_last*."""
        if self._is_done:
            return piece
        text = self._kept + piece
        if not self._is_begun:
            if b"\n" not in text and len(text) < _LONGEST_FIRST and not is_last:
                self._kept = text
                return b""
            found = _FIRST.match(text)
            text = text[found.end() :] if found else text
            self._is_begun = True
        at = text.find(self._second)
        if at >= 0:
            self._is_done, self._kept = True, b""
            return text[:at] + text[at + len(self._second) :]
        held = 0 if is_last else _overlap(text, self._second)
        self._kept = text[len(text) - held :]
        return text[: len(text) - held]


def _overlap(text: bytes, line: bytes) -> int:
    """Return how much of the end of *text* may be the beginning of *line*."""
    for length in range(min(len(text), len(line) - 1), 0, -1):
        if text.endswith(line[:length]):
            return length
    return 0
