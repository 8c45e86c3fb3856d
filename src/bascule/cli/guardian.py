"""
What a controller pod's first process does: it keeps its agent alive, and passes on what the agent reads.

The agent is a fork of it, and may be killed at any moment. It hands over the job's output
in frames, each with the places up to which it has read. A frame is written out whole or
not at all, and the next agent is told where the last whole one ended: so each byte appears
once, and one stream goes on for as long as the pod lives.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec

from bascule.ports import Stream

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
LONG_ENOUGH = 60.0
"""Seconds after which an agent has lived, so that the next one is not kept waiting."""
LARGEST_FRAME = 8 * 1024 * 1024
LONGEST_MESSAGE = 4096
"""Bytes that Kubernetes takes of a termination message."""
DESCRIPTORS: dict[Stream, int] = {"output": 1, "error": 2}


class Place(msgspec.Struct, frozen=True):
    """Up to where one stream of an *attempt* was passed on; of an array, of each task."""

    stream: Stream
    attempt: int
    offsets: dict[str, int]


class End(msgspec.Struct, frozen=True):
    """How the job ended, for whoever looks at the pod."""

    code: int
    message: str


class Frame(msgspec.Struct, frozen=True):
    """What an agent hands over: *size* bytes of output that lead to *place*, or the *end*."""

    size: int = 0
    place: Place | None = None
    end: End | None = None


class Progress:
    """How far the output was passed on."""

    def __init__(self) -> None:
        self._attempts: dict[Stream, int] = {}
        self._offsets: dict[Stream, dict[str, int]] = {}

    def note(self, place: Place) -> None:
        """Take note of *place*."""
        if self._attempts.get(place.stream) != place.attempt:
            self._attempts[place.stream] = place.attempt
            self._offsets[place.stream] = {}
        self._offsets[place.stream].update(place.offsets)

    def of(self, stream: Stream) -> tuple[int, dict[str, int]]:
        """Return the attempt that was read last, 0 for none, and up to where."""
        return self._attempts.get(stream, 0), dict(self._offsets.get(stream, {}))


Agent = Callable[[Progress, int], int]
"""Does the agent's work, and writes frames to a descriptor; what it returns is of interest only without an `End`."""


def guard(agent: Agent, *, message_file: str, descriptors: dict[Stream, int] = DESCRIPTORS) -> int:
    """Run *agent*, again and again, until it has told the end, or we were asked to leave; return the exit code."""
    progress, pause = Progress(), FIRST_PAUSE
    leaving: list[int] = []
    children: list[int] = []

    def leave(number: int, _frame: object) -> None:
        leaving.append(number)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        while True:
            began = time.monotonic()
            child, source = _fork(agent, progress)
            children[:] = [child]
            if leaving:
                os.kill(child, leaving[-1])
            end = _pass_on(source, progress, descriptors)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            children.clear()
            if end is not None:
                _leave_message(message_file, end.message)
                return end.code
            if leaving:
                return 128 + leaving[-1]
            if time.monotonic() - began > LONG_ENOUGH:
                pause = FIRST_PAUSE
            print(f"bascule: the agent ended with {code}; another takes over", file=sys.stderr, flush=True)
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def frame_of(frame: Frame, data: bytes = b"") -> bytes:
    """Return *frame* as it goes over the pipe, with what belongs to it."""
    return msgspec.json.encode(frame) + b"\n" + data


def _fork(agent: Agent, progress: Progress) -> tuple[int, int]:
    """Start *agent* as a child; return its process id, and where to read what it hands over."""
    source, sink = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        os.close(sink)
        return child, source
    code = 70
    try:
        os.close(source)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        code = agent(progress, sink)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        # Not `sys.exit`: this is a copy of a process that has its own way to end.
        sys.stderr.flush()
        os._exit(code)


def _pass_on(source: int, progress: Progress, descriptors: dict[Stream, int]) -> End | None:
    """Write out each whole frame from *source* until it is closed; return the end, if it was told."""
    end: End | None = None
    with os.fdopen(source, "rb") as frames:
        for frame, data in _frames(frames.readline, frames.read):
            if frame.place is not None:
                _write(descriptors[frame.place.stream], data)
                progress.note(frame.place)
            end = frame.end or end
    return end


def _frames(readline: Callable[[], bytes], read: Callable[[int], bytes]) -> Iterator[tuple[Frame, bytes]]:
    """Read whole frames; what an agent that was killed has begun is dropped."""
    while (line := readline()).endswith(b"\n"):
        frame = msgspec.json.decode(line, type=Frame)
        if frame.size > LARGEST_FRAME:
            raise ValueError(f"a frame of {frame.size:,} bytes")
        data = read(frame.size)
        if len(data) < frame.size:
            return
        yield frame, data


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _leave_message(path: str, message: str) -> None:
    """Write the termination message; elsewhere than in a pod there is no place for it."""
    with suppress(OSError), open(path, "r+b") as file:  # noqa: PTH123 - only where the kubelet has made it
        file.write(message.encode()[:LONGEST_MESSAGE])
