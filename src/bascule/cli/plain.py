"""The display in a pipe: states as lines on stderr, the job's own bytes unchanged."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from bascule.bridge import BridgeJob
from bascule.cli import output, words
from bascule.cli.sink import Sink
from bascule.model import Job, Phase
from bascule.ports import Stream

LONGEST_LINE = 64 * 1024
"""Bytes that are kept while the end of a line is awaited."""


class PlainDisplay:
    """
    Lines for people, bytes for programs.

    One job's output and errors pass through as they are. Of *several*, only whole lines
    are written, each after the name of its job.
    """

    def __init__(self, *, several: bool) -> None:
        self._several = several
        self._sinks: dict[Stream, Sink] = {"output": Sink(1), "error": Sink(2)}
        self._shares_line = output.is_terminal(sys.stdout) and output.is_terminal(sys.stderr)
        self._said: dict[str, str] = {}
        self._begun: dict[tuple[str, Stream], bytes] = {}

    async def __aenter__(self) -> Self:
        """Begin."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the lines that were never ended."""
        if kind is None:
            for (name, stream), line in self._begun.items():
                if line:
                    await self._sinks[stream].write(_led(name, line + b"\n"))
            self._end_line()

    def show(self, job: Job) -> None:
        """Say where *job* stands, if that has not been said."""
        if job.status.phase.is_final or state_is_plain(job):
            return
        state = words.state_of(job)
        step = words.step_of(job)
        if self._said.get(job.name) != step:
            self._said[job.name] = step
            self.note(f"job/{job.name} {state}")

    async def take(self, job: BridgeJob, stream: Stream, data: bytes) -> None:
        """Pass *data* on."""
        if self._several:
            whole, end, rest = (self._begun.pop((job.name, stream), b"") + data).rpartition(b"\n")
            if len(rest) > LONGEST_LINE:
                whole, end, rest = whole + end + rest, b"\n", b""
            self._begun[job.name, stream] = rest
            data = b"".join(_led(job.name, line + b"\n") for line in whole.split(b"\n")) if end else b""
        if data:
            await self._sinks[stream].write(data)

    def note(self, text: str) -> None:
        """Say something on a line of its own."""
        self._end_line()
        output.say(output.clean(text))

    def _end_line(self) -> None:
        """End the line of the job's that the next word of ours would hang on."""
        told = [self._sinks["error"], *([self._sinks["output"]] if self._shares_line else [])]
        if not all(sink.ends_line for sink in told):
            output.say("")
        for sink in told:
            sink.ends_line = True


def state_is_plain(job: Job) -> bool:
    """Tell whether nothing has happened yet that is worth a line."""
    return job.status.phase is Phase.PENDING and not job.status.reason


def _led(name: str, line: bytes) -> bytes:
    return f"{name} | ".encode() + line
