"""``bascule run``: submit, show live, end with the result."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from bascule.bridge import Bridge, BridgeJob
from bascule.cli import output, session, words
from bascule.cli.admitting import OVERRIDES, STDIN, add_overrides, admit, objects_from, say_over
from bascule.cli.arguments import Parser
from bascule.cli.exits import BY_SIGNAL, Exit, code_of_error, code_of_job
from bascule.cli.following import Display, follow, not_accepted
from bascule.cli.plain import PlainDisplay
from bascule.cli.results import write_results
from bascule.cli.watching import watch_driver
from bascule.errors import Error, Refused
from bascule.model import Job

WHAT = """
Submit the jobs of FILE, show their progress and output live, and end as they end.

FILE is YAML or a plain script; `-` is stdin. The same name with the same work again
attaches to the job that is there. Ctrl-C, TERM and a closed terminal detach: the job
goes on, and the command ends with 128 + the signal. A second Ctrl-C ends it at once.
The exit code is the job's own, or one of those in the reference; of several jobs, that
of the first that did not succeed.
"""
EXAMPLES = """
bascule run train.sh
bascule run train.sh -t hpc -p gpu --time 2h -- --epochs 3
bascule run job.yaml --result result.json
bascule run --wrap 'make -j4' -n build
"""

CONFIRMED_WITHIN = 60.0
"""Seconds to wait for a cancellation on the way out."""


def add_arguments(parser: Parser) -> None:
    """Say what `run` takes."""
    parser.takes_rest = True
    parser.set_defaults(rest=())
    parser.usage = "bascule run [OPTION]... FILE [-- ARGUMENT...]"
    parser.add_argument("file", metavar="FILE", nargs="?", help="YAML, or a plain script; - is stdin")
    add_overrides(parser)
    parser.add_argument("--wrap", metavar="COMMAND", help="run this shell command, in place of a file")
    parser.add_argument("--replace", action="store_true", help="put it in the place of a job of the same name")
    parser.add_argument("--cancel-on-exit", action="store_true", help="cancel, where Ctrl-C and the like would detach")
    parser.add_argument("--result", metavar="FILE", type=Path, help="write the whole result as JSON; - is stdout")


def main(args: argparse.Namespace) -> int:
    """Run the jobs; return the exit code."""
    objects = objects_from(args.file, args)

    async def work(bridge: Bridge) -> int:
        jobs: list[BridgeJob] = []

        async def whole() -> list[Job | Error]:
            for job, was_over in await admit(bridge, objects, replace_other=args.replace):
                jobs.append(job)
                if was_over:
                    say_over(job.name, ": what follows is what came of it")
            return await _follow_all(bridge, jobs)

        try:
            ends = await session.attended(whole())
        except session.Left as left:
            return await _leave(jobs, left, args)
        for end in ends:
            _tell(end)
        if args.result is not None:
            write_results(args.result, [end for end in ends if isinstance(end, Job)])
        return next((code for end in ends if (code := _code_of(end))), Exit.SUCCEEDED)

    return session.run(args, work, drive=True)


async def _follow_all(bridge: Bridge, jobs: Sequence[BridgeJob]) -> list[Job | Error]:
    """Follow *jobs* until each is over; return each, or what kept it from its end."""
    async with AsyncExitStack() as stack:
        display: Display
        if output.draws():
            from rich.console import Console

            from bascule.cli.live import LiveDisplay

            live = await stack.enter_async_context(LiveDisplay(Console(), several=len(jobs) > 1))
            display, drawing = live, live.keep_drawing()
        else:
            display, drawing = await stack.enter_async_context(PlainDisplay(several=len(jobs) > 1)), None
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(watch_driver(bridge, jobs, display.note), name="watch the driver")]
            if drawing is not None:
                beside.append(tasks.create_task(drawing, name="draw"))
            async with asyncio.TaskGroup() as followers:
                followed = [followers.create_task(_end_of(job, display), name=f"follow {job.name}") for job in jobs]
            for task in beside:
                task.cancel()
        return [task.result() for task in followed]


async def _end_of(job: BridgeJob, display: Display) -> Job | Error:
    try:
        return await follow(job, display)
    except ExceptionGroup as group:
        refused, others = group.split(Refused)
        if refused is None or others is not None:
            raise
        return not_accepted(await job.get())


async def _leave(jobs: Sequence[BridgeJob], left: session.Left, args: argparse.Namespace) -> int:
    states = [await job.get() for job in jobs]
    live = [state for state in states if not state.status.phase.is_final]
    if args.cancel_on_exit:
        return await _cancel_all(jobs)
    for state in live:
        output.say(f"detached from job/{state.name}: {words.what_moves_it(state)}")
    if live:
        names = " ".join(state.name for state in live)
        asked = any(getattr(args, name) is not None for name in OVERRIDES) or args.rest
        again = "" if asked or args.file in (None, STDIN) else f"`bascule run {args.file}`, "
        output.hint(f"come back with {again}`bascule logs -f {live[0].name}` or `bascule wait {names}`")
        if any(not words.goes_on(state) for state in live):
            output.hint("`bascule serve` keeps everything moving meanwhile")
    return BY_SIGNAL + left.signal


async def _cancel_all(jobs: Sequence[BridgeJob]) -> int:
    for job in jobs:
        await job.cancel()
    output.say("cancelling, until the manager has confirmed it; once more ends this at once")
    try:
        async with asyncio.timeout(CONFIRMED_WITHIN):
            ends = [await _ended(job) for job in jobs]
    except TimeoutError:
        output.say(f"not confirmed within {CONFIRMED_WITHIN:g} s; it is asked for, and `bascule wait` looks after it")
        return Exit.TEMPORARY
    for end in ends:
        _tell(end)
    return next((code for end in ends if (code := code_of_job(end.status))), Exit.SUCCEEDED)


async def _ended(job: BridgeJob) -> Job:
    await job.wait()
    return await job.get()


def _tell(end: Job | Error) -> None:
    if isinstance(end, Error):
        output.tell(end)
        return
    colour = output.PHASE_COLOURS.get(end.status.phase, "")
    output.say(f"{output.coloured(f'job/{end.name}', colour, sys.stderr)} {output.clean(words.result_of(end))}")
    if code_of_job(end.status):
        output.hint(f"`bascule describe job {end.name}` tells its story")


def _code_of(end: Job | Error) -> int:
    return code_of_error(end) if isinstance(end, Error) else code_of_job(end.status)
