"""``bascule release``: let held or suspended jobs go on."""

from __future__ import annotations

import argparse

from bascule.bridge import Bridge
from bascule.cli import output, session
from bascule.cli.arguments import Parser
from bascule.cli.steering import add_jobs, chosen, is_taken_up, settled
from bascule.model import Job, Phase, Reason, Ref

WHAT = """
Let jobs go on that were held, or suspended. One that was stopped for it gets a new attempt.
A hold that was made at the manager, not by `bascule hold`, is lifted there, once.
"""
EXAMPLES = """
bascule release train
bascule release -l project=x
"""


def add_arguments(parser: Parser) -> None:
    """Say what `release` takes."""
    add_jobs(parser)


def main(args: argparse.Namespace) -> int:
    """Release them; return the exit code."""

    async def work(bridge: Bridge) -> int:
        jobs = await chosen(bridge, args)
        lifted: set[Ref] = set()
        for job in jobs:
            await job.release()
        for job in jobs:
            if await job.lift():
                lifted.add(job.ref)
                output.say(f"job/{job.name}: lifted a hold that was made outside")
        return await settled(bridge, jobs, lambda job: is_taken_up(job) and (job.ref in lifted or not _is_kept(job)))

    return session.run(args, work, drive=True)


def _is_kept(job: Job) -> bool:
    return job.status.holding or job.status.phase is Phase.HELD or job.status.reason == Reason.SUSPENDED
