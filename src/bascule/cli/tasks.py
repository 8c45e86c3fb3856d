"""
The output of all tasks of an array: whole lines, each after the index of its task.

Which tasks run, nobody tells; so all are looked at, round by round, and the more of them
there are, the longer is the rest between two rounds.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping

from bascule.bridge import BridgeJob, check_index, task_indices
from bascule.model import Job
from bascule.ports import Stream

LONGEST_LINE = 64 * 1024
"""Bytes that are kept while the end of a line is awaited."""
PIECE = 256 * 1024
FASTEST, SLOWEST = 0.1, 1.0
REST = 4.0
"""How much longer than a round the rest after it is."""

Offsets = Mapping[int | None, int]
"""Where to begin to read: of each task, or, by None, of a job that is no array."""

_OF_A_TASK = re.compile(r"%[0-9]*[ajJN]")


class TaskOutput:
    """What the tasks of one attempt write to *stream*, from where it was last read."""

    def __init__(self, job: BridgeJob, state: Job, stream: Stream, attempt: int | None, offsets: Offsets) -> None:
        self._job = job
        self._stream = stream
        self._attempt = attempt
        self._is_one = writes_one_file(state, stream)
        indices = task_indices(state)[: 1 if self._is_one else None]
        self._offsets = {index: offsets.get(index, 0) for index in indices}
        self._begun: dict[int, bytes] = {}

    async def round(self) -> AsyncIterator[bytes]:
        """Read a piece of each task; give whole lines."""
        for index, offset in self._offsets.items():
            chunk = await self._job.piece(self._stream, offset=offset, limit=PIECE, attempt=self._attempt, index=index)
            if chunk is not None and chunk.data:
                self._offsets[index] = chunk.offset + len(chunk.data)
                yield self._lines(index, chunk.data)

    async def whole(self) -> AsyncIterator[bytes]:
        """Read all there is, one task after the other."""
        for index in self._offsets:
            while True:
                chunk = await self._job.piece(
                    self._stream, offset=self._offsets[index], limit=PIECE, attempt=self._attempt, index=index
                )
                if chunk is None or not chunk.data:
                    break
                self._offsets[index] = chunk.offset + len(chunk.data)
                yield self._lines(index, chunk.data)
            yield self._end_of(index)

    def ends(self) -> bytes:
        """Return the last lines of those tasks that did not end theirs."""
        return b"".join(self._end_of(index) for index in list(self._begun))

    def _lines(self, index: int, data: bytes) -> bytes:
        if self._is_one:
            return data
        whole, end, rest = (self._begun.pop(index, b"") + data).rpartition(b"\n")
        if len(rest) > LONGEST_LINE:
            whole, end, rest = whole + end + rest, b"\n", b""
        if rest:
            self._begun[index] = rest
        return b"".join(_led(index, line) for line in whole.split(b"\n")) if end else b""

    def _end_of(self, index: int) -> bytes:
        line = self._begun.pop(index, b"")
        return _led(index, line) if line else b""


async def followed(job: BridgeJob, output: TaskOutput, attempt: int) -> AsyncIterator[bytes]:
    """Give what the tasks of *attempt* write, as it comes, until that attempt is over."""
    loop = asyncio.get_running_loop()
    rest = FASTEST
    while True:
        status = await job.status()
        ended = status.phase.is_final or status.attempt != attempt
        began, moved = loop.time(), False
        async for lines in output.round():
            moved = True
            if lines:
                yield lines
        if ended and not moved:
            break
        took = loop.time() - began
        rest = FASTEST if moved else min(rest * 1.3, SLOWEST)
        await asyncio.sleep(0.0 if ended else max(rest, took * REST))
    if last := output.ends():
        yield last


def check_tasks(state: Job, index: int | None) -> None:
    """Raise `Mistake` where there is no task *index*, or None is given for an array of which we know no index."""
    if index is not None or (state.is_array and not task_indices(state)):
        check_index(state, index)


def writes_one_file(state: Job, stream: Stream) -> bool:
    """Tell whether all tasks write to one file, so that reading each would show all of it many times."""
    name = state.spec.output if stream == "output" else state.spec.error
    return name is not None and not _OF_A_TASK.search(name.replace("%%", ""))


def _led(index: int, line: bytes) -> bytes:
    return b"%d | %b\n" % (index, line)
