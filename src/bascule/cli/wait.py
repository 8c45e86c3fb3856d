"""``bascule wait``: until jobs are over."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.bridge import Bridge, BridgeJob
from bascule.cli import output, session, words
from bascule.cli.arguments import Parser, duration_from
from bascule.cli.exits import BY_SIGNAL, Exit, code_of_error, code_of_job
from bascule.cli.following import NOT_ACCEPTED, not_accepted
from bascule.cli.naming import JOB_KINDS, job_name
from bascule.cli.results import write_results
from bascule.cli.watching import Seen, until_each
from bascule.errors import Mistake
from bascule.model import Job, Reason

if TYPE_CHECKING:
    from bascule.cli.live import LiveDisplay

WHAT = """
Wait until each job NAME is over, keep everything moving meanwhile, and print how each
ended. The exit code is 0 if all succeeded, else that of the first named that did not.
"""
EXAMPLES = """
bascule wait train
bascule wait prepare train --timeout 2h
bascule wait train --result result.json
"""

SAID = frozenset({Reason.TARGET_UNREACHABLE, Reason.SUSPENDED, Reason.RETRYING, Reason.SUBMIT_UNCERTAIN})
"""Why a job waits, where somebody who waits for it should know."""


def add_arguments(parser: Parser) -> None:
    """Say what `wait` takes."""
    parser.add_argument("names", metavar="NAME", nargs="+", type=job_name, help="a job")
    parser.add_argument(
        "--timeout", metavar="D", type=duration_from, help="give up after this time, with code 76: 30s, 10m, 2h"
    )
    parser.add_argument("--result", metavar="FILE", type=Path, help="write the whole result as JSON; - is stdout")


def main(args: argparse.Namespace) -> int:
    """Wait; return the exit code."""

    async def work(bridge: Bridge) -> int:
        jobs = await named(bridge, args.names)
        try:
            limit = args.timeout.total_seconds() if args.timeout is not None else None
            ends = await session.attended(_all_ended(bridge, jobs, limit))
        except session.Left as left:
            output.say("the jobs go on; retries, dependencies and deadlines wait until you are back")
            output.hint(f"come back with `bascule wait {' '.join(args.names)}`")
            return BY_SIGNAL + left.signal
        except TimeoutError:
            return await _ran_out(jobs, args)
        if args.result is not None:
            write_results(args.result, ends)
        return next((code for end in ends if (code := _code_of(end))), Exit.SUCCEEDED)

    return session.run(args, work, drive=True)


async def named(bridge: Bridge, names: Sequence[str]) -> list[BridgeJob]:
    """Return the jobs of these *names*, which must be there; `job` before them is no name, unless a job has it."""
    jobs = [bridge.job(name) for name in dict.fromkeys(names)]
    if len(jobs) > 1 and jobs[0].name in JOB_KINDS and await bridge.store.get(jobs[0].ref) is None:
        del jobs[0]
    await must_exist(bridge, jobs)
    return jobs


async def must_exist(bridge: Bridge, jobs: Sequence[BridgeJob]) -> None:
    """Raise `Mistake` where one of *jobs* is not there."""
    absent = [job.name for job in jobs if await bridge.store.get(job.ref) is None]
    if absent:
        raise Mistake(
            f"there is no job {', '.join(f'`{name}`' for name in absent)}", hint="`bascule get jobs` lists them"
        )


async def _all_ended(bridge: Bridge, jobs: Sequence[BridgeJob], seconds: float | None) -> list[Job]:
    """Wait for all of *jobs*, telling how each ended; return them in their order."""
    ends: dict[str, Job] = {}
    said: dict[str, str] = {}
    live: LiveDisplay | None = None
    say = output.say

    def is_over(seen: Seen) -> bool:
        name, now = seen.job.name, seen.now
        if name in ends:
            return True
        if now is None:
            raise Mistake(f"job `{name}` was deleted meanwhile", hint="`bascule get jobs` lists what is there")
        if live is not None:
            live.show(now)
        if now.status.phase.is_final:
            (live.note if live is not None else output.data)(f"job/{name} {output.clean(words.result_of(now))}")
            ends[name] = now
        elif now.status.reason in NOT_ACCEPTED:
            output.tell(not_accepted(now))
            ends[name] = now
        elif now.status.reason in SAID and said.get(name) != now.status.message:
            said[name] = now.status.message
            say(f"job/{name} {output.clean(words.state_of(now))}")
        return name in ends

    async with asyncio.timeout(seconds), AsyncExitStack() as stack:
        if output.draws():
            from bascule.cli.live import drawn

            live = await stack.enter_async_context(drawn(several=len(jobs) > 1))
            say = live.note
        await until_each(bridge, jobs, is_over, live.note if live is not None else output.note)
    return [ends[job.name] for job in jobs]


def _code_of(end: Job) -> int:
    return code_of_job(end.status) if end.status.phase.is_final else code_of_error(not_accepted(end))


async def _ran_out(jobs: Sequence[BridgeJob], args: argparse.Namespace) -> int:
    for job in jobs:
        state = await job.get()
        if not state.status.phase.is_final:
            output.say(f"job/{job.name} is not over after {args.timeout}: {output.clean(words.state_of(state))}")
    output.hint("nothing was cancelled; wait again, or `bascule cancel` it")
    return Exit.STILL_WAITING
