"""``bascule logs``: a job's output, byte for byte."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import aclosing

from bascule.bridge import Bridge, BridgeJob, task_indices
from bascule.cli import output, session
from bascule.cli.arguments import Parser, count_from
from bascule.cli.exits import BY_SIGNAL, Exit
from bascule.cli.following import NO_OFFSETS, read_all, read_attempt
from bascule.cli.naming import job_name
from bascule.cli.sink import Sink
from bascule.cli.tasks import Offsets, TaskOutput, check_tasks
from bascule.model import Job
from bascule.ports import Stream

WHAT = """
Print what job NAME has written so far, byte for byte. With `-f` go on until the job is
over, over all further attempts; a manager that is silent for a while loses nothing.

Of an array, print what all tasks have written, each line after its task's index; with
`--index I` the bytes of task I alone.
"""
EXAMPLES = """
bascule logs train
bascule logs train -f
bascule logs train --error --tail 20
bascule logs train --attempt 1
bascule logs sweep --index 17
"""

PIECE = 256 * 1024


def add_arguments(parser: Parser) -> None:
    """Say what `logs` takes."""
    parser.add_argument("name", metavar="NAME", type=job_name, help="a job")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the job is over")
    parser.add_argument("--error", action="store_true", help="what it wrote to its error stream")
    parser.add_argument(
        "--tail", metavar="N", type=count_from, help="begin with the last N lines; of an array, of each"
    )
    parser.add_argument("--attempt", metavar="N", type=count_from, help="of this attempt; the last one unless given")
    parser.add_argument("--index", metavar="I", type=count_from, help="of this task of an array; of all unless given")
    parser.add_argument("--cached", action="store_true", help="do not ask first whether there is news of the job")


def main(args: argparse.Namespace) -> int:
    """Print it; return the exit code."""
    stream: Stream = "error" if args.error else "output"

    async def work(bridge: Bridge) -> int:
        job = bridge.job(args.name)
        await job.get()
        if not args.cached and not args.follow:
            await session.catch_up(bridge)
        try:
            await session.attended(_print(job, stream, args))
        except session.Left as left:
            return BY_SIGNAL + left.signal
        return Exit.SUCCEEDED

    return session.run(args, work, drive=args.follow)


async def _print(job: BridgeJob, stream: Stream, args: argparse.Namespace) -> None:
    out = _Out()
    state = await job.get()
    check_tasks(state, args.index)
    offsets = await _last_lines_of_each(job, state, stream, args) if args.tail is not None else NO_OFFSETS
    if args.follow and args.attempt is None:
        await read_all(job, stream, out, index=args.index, offsets=offsets)
    elif args.follow:
        await read_attempt(job, stream, args.attempt, out, index=args.index, offsets=offsets)
    else:
        async with aclosing(_all_of(job, state, stream, args, offsets)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                await out.take(job, stream, piece)
        if not out.wrote and not any(offsets.values()):
            await _say_why_nothing(job, state, stream, args)


def _all_of(
    job: BridgeJob, state: Job, stream: Stream, args: argparse.Namespace, offsets: Offsets
) -> AsyncIterator[bytes]:
    """Give what *job* has written so far."""
    if state.is_array and args.index is None:
        return TaskOutput(job, state, stream, args.attempt, offsets).whole()
    return job.logs(stream=stream, attempt=args.attempt, index=args.index, offset=offsets.get(args.index, 0))


async def _say_why_nothing(job: BridgeJob, state: Job, stream: Stream, args: argparse.Namespace) -> None:
    index = task_indices(state)[0] if state.is_array and args.index is None else args.index
    piece = await job.piece(stream, limit=1, attempt=args.attempt, index=index)
    if piece is None:
        output.say(f"job/{job.name} has not been submitted: {output.clean(state.status.message or 'it is pending')}")
    elif piece.gone and state.status.started_at is not None:
        output.say(f"job/{job.name}: its {stream} cannot be read: the file is not there (any more)")
    elif not state.status.phase.is_final:
        output.say(f"job/{job.name} has written nothing yet; `-f` follows it")


async def _last_lines_of_each(job: BridgeJob, state: Job, stream: Stream, args: argparse.Namespace) -> Offsets:
    """Return where the last lines begin, of each task that is to be printed."""
    indices = task_indices(state) if state.is_array and args.index is None else (args.index,)
    return {index: await _last_lines(job, stream, args.tail, args.attempt, index) for index in indices}


async def _last_lines(job: BridgeJob, stream: Stream, count: int, attempt: int | None, index: int | None) -> int:
    """Return where the last *count* lines begin, reading backwards from the end."""
    end = await job.piece(stream, limit=1, attempt=attempt, index=index)
    if end is None or end.size == 0:
        return 0
    position, newlines = end.size, 0
    while position > 0:
        start = max(position - PIECE, 0)
        piece = await job.piece(stream, offset=start, limit=position - start, attempt=attempt, index=index)
        text = piece.data if piece else b""
        if position == end.size and not text.endswith(b"\n"):
            newlines += 1  # the last line was not ended
        at = len(text)
        while (at := text.rfind(b"\n", 0, at)) >= 0:
            newlines += 1
            if newlines > count:
                return start + at + 1
        position = start
    return 0


class _Out:
    """A display of the bytes alone."""

    def __init__(self) -> None:
        self._sink = Sink(1)
        self.wrote = False

    def show(self, job: object) -> None:
        """Show nothing."""

    async def take(self, job: object, stream: Stream, data: bytes) -> None:
        """Pass *data* on."""
        if data:
            self.wrote = True
            await self._sink.write(data)

    def note(self, text: str) -> None:
        """Say *text*."""
        output.say(output.clean(text))
