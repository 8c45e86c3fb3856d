"""``bascule hold``: keep jobs from starting."""

from __future__ import annotations

import argparse

from bascule.bridge import Bridge
from bascule.cli import session
from bascule.cli.arguments import Parser
from bascule.cli.steering import add_jobs, chosen, is_taken_up, settled
from bascule.errors import Mistake
from bascule.model import Job, Phase

WHAT = """
Keep jobs that wait from starting, until `release`. A job that runs cannot be held.
"""
EXAMPLES = """
bascule hold train
bascule hold -l project=x
"""


def add_arguments(parser: Parser) -> None:
    """Say what `hold` takes."""
    add_jobs(parser)


def main(args: argparse.Namespace) -> int:
    """Hold them; return the exit code."""

    async def work(bridge: Bridge) -> int:
        jobs = await chosen(bridge, args)
        for job in jobs:
            await _must_wait(bridge, await job.get())
        for job in jobs:
            await job.hold()
        return await settled(bridge, jobs, lambda job: is_taken_up(job) and _is_held(job))

    return session.run(args, work, drive=True)


async def _must_wait(bridge: Bridge, job: Job) -> None:
    phase = job.status.phase
    if phase.is_final or phase is Phase.RUNNING:
        raise Mistake(
            f"job `{job.name}` cannot be held: it is {phase}",
            hint="a job that runs can be cancelled; `suspend: true` in its spec ends it, to begin anew later",
        )
    target = await bridge.store.target(job.target_ref)
    if target is not None and not (await bridge.manager_of(target, job.namespace)).abilities.hold:
        raise Mistake(
            f"job `{job.name}` cannot be held: the manager `{target.spec.manager}` holds no jobs",
            hint="`suspend: true` keeps it from being submitted",
        )


def _is_held(job: Job) -> bool:
    return job.status.phase in (Phase.HELD, Phase.PENDING, Phase.RUNNING) or job.status.phase.is_final
