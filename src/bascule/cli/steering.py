"""Wishes about jobs that are there: which jobs, and waiting until a wish has come true."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from bascule.bridge import Bridge, BridgeJob
from bascule.cli import output, session, words
from bascule.cli.arguments import Parser, add_labels, merged
from bascule.cli.exits import BY_SIGNAL, Exit
from bascule.cli.following import NOT_ACCEPTED
from bascule.cli.naming import job_name
from bascule.cli.wait import named
from bascule.cli.watching import until_each
from bascule.errors import Mistake
from bascule.model import Job
from bascule.ports import Selector

TAKEN_UP_WITHIN = 15.0
"""Seconds to wait until a wish has come true."""


def add_jobs(parser: Parser) -> None:
    """Add the names of jobs, or their labels."""
    parser.add_argument("names", metavar="NAME", nargs="*", type=job_name, help="a job")
    add_labels(parser)


async def chosen(bridge: Bridge, args: argparse.Namespace) -> list[BridgeJob]:
    """Return the jobs that *args* name, or the live ones that bear its labels."""
    if args.names and args.labels:
        raise Mistake("jobs are given by name or by labels, not by both", hint="leave one of them out")
    if args.names:
        return await named(bridge, args.names)
    if not args.labels:
        raise Mistake("no jobs are named", hint="name them, or select them with `-l KEY=VALUE`")
    found = await bridge.jobs(Selector(labels=merged(args.labels), live=True))
    if not found:
        output.say("no live job has these labels")
    return [bridge.job(job.name) for job in found]


async def until(
    bridge: Bridge, jobs: Sequence[BridgeJob], is_true: Callable[[Job], bool], *, within: float
) -> list[Job | None]:
    """Wait until *is_true* of each or it is gone, for *within* seconds at most; return each as it is then."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            await until_each(bridge, jobs, lambda seen: seen.now is None or is_true(seen.now), output.note)
    return [await bridge.store.get(job.ref) for job in jobs]


def is_taken_up(job: Job) -> bool:
    """Tell whether the driver has seen what is wished of *job* now."""
    return job.status.observed_generation >= job.generation or job.status.reason in NOT_ACCEPTED


async def settled(bridge: Bridge, jobs: Sequence[BridgeJob], is_true: Callable[[Job], bool]) -> int:
    """Wait until the wish has come true, for a bounded time; print where each job stands, and return the exit code."""
    try:
        after = await session.attended(until(bridge, jobs, is_true, within=TAKEN_UP_WITHIN))
    except session.Left as left:
        output.say("the wish is stored, and is carried out when somebody drives this home")
        return BY_SIGNAL + left.signal
    for job in filter(None, after):
        output.data(f"job/{job.name} {output.clean(words.state_of(job))}")
    late = [job.name for job in after if job is not None and not is_true(job)]
    if late:
        output.say(f"not carried out yet: {', '.join(f'job/{name}' for name in late)}")
        output.hint(f"the wish is stored; `bascule wait {late[0]}` or `bascule serve` goes on with it")
    return Exit.TEMPORARY if late else Exit.SUCCEEDED
