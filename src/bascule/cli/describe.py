"""``bascule describe``: all that is known, and the story of it."""

from __future__ import annotations

import argparse

from bascule.bridge import Bridge
from bascule.cli import output, session
from bascule.cli.arguments import Parser
from bascule.cli.exits import Exit
from bascule.cli.naming import add_kind_and_names, settle
from bascule.cli.telling import Page, lines_of_job, lines_of_target
from bascule.errors import Mistake
from bascule.model import Phase, Ref
from bascule.ports import Selector

WHAT = """
Tell all that is known of a job or a target: what was asked, how it stands and why, the
manager's own words, and the story of what happened, with times and reasons.

Where nobody drives the home, it is brought up to date first, for a few seconds at most.
"""
EXAMPLES = """
bascule describe train
bascule describe job train
bascule describe target hpc
"""


def add_arguments(parser: Parser) -> None:
    """Say what `describe` takes."""
    add_kind_and_names(parser, "job or target", "which")
    parser.add_argument("--cached", action="store_true", help="tell what is stored, and look no further")


def main(args: argparse.Namespace) -> int:
    """Tell it; return the exit code."""
    settle(args, "describe", bare=True)
    tell = _job if args.kind == "job" else _target

    async def work(bridge: Bridge) -> int:
        pages = [await tell(bridge, name) for name in args.names]  # a name that is not there is told at once
        if not args.cached:
            await session.catch_up(bridge)
            pages = [await tell(bridge, name) for name in args.names]
        output.data("\n\n".join(str(page) for page in pages))
        return Exit.SUCCEEDED

    return session.run(args, work, drive=False)


async def _job(bridge: Bridge, name: str) -> Page:
    job = await bridge.job(name).get()
    target = await bridge.store.target(job.target_ref)
    return lines_of_job(job, target, await bridge.store.events(job.ref), bridge.store.driver())


async def _target(bridge: Bridge, name: str) -> Page:
    target = await bridge.store.target(Ref(bridge.namespace, name))
    if target is None:
        known = sorted([target.name async for target in bridge.store.targets()])
        raise Mistake(f"there is no target `{name}`", hint=f"there are: {', '.join(known) or 'none'}")
    counts: dict[Phase, int] = {}
    async for job in bridge.store.list(Selector(target=name)):
        counts[job.status.phase] = counts.get(job.status.phase, 0) + 1
    return lines_of_target(target, counts)
