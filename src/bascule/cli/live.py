"""
The live display: output scrolls by, and beneath it stands how the jobs are.

Only the lines beneath are drawn again and again. Output is printed above them and stays
in the terminal's history; of a flood only as much as can be looked at is shown.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from bascule.bridge import BridgeJob
from bascule.cli import output, words
from bascule.model import Job, Phase
from bascule.ports import Stream

PER_SECOND = 32 * 1024
"""Bytes of output a second that are shown, more than can be looked at; what is more is counted."""
LAST_WORDS = 1024
"""Bytes that are shown of the end of what was not."""
LONGEST_LINE = 4096
MOST_JOBS = 8
COLOURS = {
    Phase.RUNNING: "cyan",
    Phase.SUCCEEDED: "green",
    Phase.FAILED: "red",
    Phase.CANCELLED: "yellow",
    Phase.HELD: "yellow",
    Phase.UNKNOWN: "magenta",
}


class LiveDisplay:
    """Draws on the terminal until it is left."""

    def __init__(self, console: Console, *, several: bool) -> None:
        self._console = console
        self._several = several
        self._jobs: dict[str, Job] = {}
        self._spinners: dict[str, Spinner] = {}
        self._begun: dict[tuple[str, Stream], bytes] = {}
        self._hidden: dict[tuple[str, Stream], bytes] = {}
        self._uncounted: dict[tuple[str, Stream], int] = {}
        self._since, self._shown = 0.0, 0
        self._live = Live(
            get_renderable=self._drawn, console=console, auto_refresh=False, transient=True, redirect_stdout=False
        )

    async def __aenter__(self) -> Self:
        """Begin to draw."""
        self._live.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Print what is left, and take the lines beneath away."""
        with suppress(OSError):
            self._own_up()
            for source, line in self._begun.items():
                self._print(source, [line] if line else [])
            self._live.stop()

    async def keep_drawing(self) -> None:
        """Draw anew, a few times a second, until cancelled."""
        while True:
            self._live.refresh()
            await asyncio.sleep(0.125)

    def show(self, job: Job) -> None:
        """Show where *job* stands."""
        self._jobs[job.name] = job

    async def take(self, job: BridgeJob, stream: Stream, data: bytes) -> None:
        """Show the lines in *data*; of a flood, count what cannot be looked at."""
        source = (job.name, stream)
        if time.monotonic() - self._since > 1.0:
            self._own_up()
            self._since, self._shown = time.monotonic(), 0
        room = max(PER_SECOND - self._shown, 0)
        hidden, data = data[room:], data[:room]
        self._shown += len(data)
        if data:
            *lines, rest = (self._begun.pop(source, b"") + data).split(b"\n")
            self._begun[source] = rest[-LONGEST_LINE:]
            self._print(source, lines)
        if hidden:
            self._uncounted[source] = self._uncounted.get(source, 0) + len(hidden)
            self._hidden[source] = (self._hidden.get(source, b"") + hidden)[-LAST_WORDS:]

    def note(self, text: str) -> None:
        """Print a line of ours above."""
        self._console.print(Text(output.clean(text), style="dim"))

    def _own_up(self) -> None:
        """Say how much was not shown, and show the end of it."""
        for source, last in self._hidden.items():
            begun = self._begun.pop(source, b"")
            self._print(source, [begun] if begun else [])
            *lines, rest = last.split(b"\n")
            count = self._uncounted.pop(source) - len(last)
            if count > 0:
                self.note(f"... {count:,} bytes are not shown here; `bascule logs {source[0]}` has them all")
            self._print(source, lines)
            self._begun[source] = rest
        self._hidden.clear()

    def _print(self, source: tuple[str, Stream], lines: Sequence[bytes]) -> None:
        """Print whole *lines*, all at once: each printing draws what stands beneath anew."""
        if lines:
            texts = [self._text(*source, line) for line in lines]
            self._console.print(Text("\n").join(texts), soft_wrap=True, highlight=False)

    def _text(self, name: str, stream: Stream, line: bytes) -> Text:
        text = Text.from_ansi(line[:LONGEST_LINE].decode(errors="replace"), end="")
        if stream == "error":
            text.stylize_before("yellow")
        return Text(f"{name} | ", style="dim") + text if self._several else text

    def _drawn(self) -> Group:
        now = datetime.now(UTC)
        lively = sorted(self._jobs.values(), key=lambda job: job.status.phase.is_final)
        lines = Table.grid(padding=(0, 2))
        for job in lively[:MOST_JOBS]:
            lines.add_row(self._sign(job), Text(job.name, style="bold"), _state(job), _progress(job, now))
        parts: list[Table | Text] = [lines]
        if len(lively) > MOST_JOBS:
            over = sum(job.status.phase.is_final for job in lively)
            parts.append(Text(f"  and {len(lively) - MOST_JOBS} more; {over} of {len(lively)} are over", style="dim"))
        parts += [Text(f"  {output.clean(why)}", style="dim") for why in _whys(lively[:MOST_JOBS])]
        parts += [
            Text(line.decode(errors="replace")[-200:], style="italic dim", no_wrap=True, overflow="ellipsis")
            for line in self._begun.values()
            if line.strip()
        ][:2]
        return Group(*reversed(parts)) if len(parts) > 1 and not self._several else Group(*parts)

    def _sign(self, job: Job) -> Spinner | Text:
        if job.status.phase.is_final:
            return Text("*" if job.status.phase is Phase.SUCCEEDED else "!", style=COLOURS[job.status.phase])
        return self._spinners.setdefault(job.name, Spinner("line", style="cyan"))


@asynccontextmanager
async def drawn(*, several: bool) -> AsyncIterator[LiveDisplay]:
    """Give a display that draws anew by itself until it is left."""
    async with LiveDisplay(Console(), several=several) as display, asyncio.TaskGroup() as tasks:
        drawing = tasks.create_task(display.keep_drawing(), name="draw")
        yield display
        drawing.cancel()


def _state(job: Job) -> Text:
    status = job.status
    text = Text(str(status.phase), style=COLOURS.get(status.phase, ""))
    if status.reason:
        text.append(f" ({status.reason})")
    if status.attempt > 1:
        text.append(f", attempt {status.attempt}")
    return text.append(f" on {job.spec.target.name}", style="dim")


def _progress(job: Job, now: datetime) -> Table | Text:
    """Return how many tasks are done, or the time against the walltime, as a bar; else how long it has waited."""
    status = job.status
    if status.tasks is not None and status.started_at is not None:
        return _bar(status.tasks.done / max(status.tasks.total, 1), status.tasks.summary, full="cyan")
    took = words.duration_of(status, now)
    if took is None:
        return Text(f"waits for {words.age(status.submitted_at or job.created_at, now) or '0s'}", style="dim")
    walltime = job.spec.resources.walltime
    if walltime is None:
        return Text(words.short(took))
    share = min(took / walltime, 1.0)
    return _bar(share, f"{words.short(took)} of {words.short(walltime)}", full="red" if share > 0.9 else "cyan")


def _bar(share: float, text: str, *, full: str) -> Table:
    line = Table.grid(padding=(0, 1))
    line.add_row(ProgressBar(total=1.0, completed=share, width=24, complete_style=full), Text(text))
    return line


def _whys(jobs: Iterable[Job]) -> list[str]:
    """Return why jobs wait, in the manager's words."""
    return [
        f"{job.name}: {job.status.message}"
        for job in jobs
        if job.status.message and not job.status.phase.is_final and job.status.phase is not Phase.RUNNING
    ]
