"""``bascule release``: let held or suspended jobs go on."""

from __future__ import annotations

import argparse

from bascule.bridge import Bridge
from bascule.cli import session
from bascule.cli.arguments import Parser
from bascule.cli.steering import add_jobs, chosen, is_taken_up, settled
from bascule.model import Job, Phase, Reason

WHAT = """
Let jobs go on that were held, or suspended. One that was stopped for it gets a new attempt.
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
        for job in jobs:
            await job.release()
        return await settled(bridge, jobs, lambda job: is_taken_up(job) and not _is_kept(job))

    return session.run(args, work, drive=True)


def _is_kept(job: Job) -> bool:
    return job.status.holding or job.status.phase is Phase.HELD or job.status.reason == Reason.SUSPENDED
