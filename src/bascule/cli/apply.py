"""``bascule apply``: make or change jobs and targets."""

from __future__ import annotations

import argparse

from bascule.bridge import Bridge
from bascule.cli import output, session
from bascule.cli.arguments import Parser
from bascule.cli.exits import Exit
from bascule.model import Job, Target

WHAT = """
Make the jobs and targets of FILE what it says, targets first. Of a job that was submitted
only how it is treated can change; what runs is another job's business.

Nothing is waited for: a job that is made so is submitted when somebody drives the home,
as `submit`, `run`, `wait` and `serve` do.
"""
EXAMPLES = """
bascule apply -f target.yaml
bascule apply -f job.yaml -f other.yaml
"""


def add_arguments(parser: Parser) -> None:
    """Say what `apply` takes."""
    parser.add_argument(
        "-f", "--file", metavar="FILE", action="append", required=True, help="YAML with jobs and targets; - is stdin"
    )


def main(args: argparse.Namespace) -> int:
    """Apply them; return the exit code."""
    from bascule.bridge.places import namespace_of
    from bascule.spec import load_file

    namespace = namespace_of(args.platform, args.namespace)
    things = [thing for path in args.file for thing in load_file(path, namespace=namespace)]

    async def work(bridge: Bridge) -> int:
        made = False
        for target in things:
            if isinstance(target, Target):
                output.data(f"target/{target.name} {await bridge.apply_target(target)}")
        for job in things:
            if isinstance(job, Job):
                verb = await bridge.apply(job)
                made = made or verb == "created"
                output.data(f"job/{job.name} {verb}")
        if made and bridge.store.driver() is None:
            output.hint("nobody drives this home: `bascule wait NAME` or `bascule serve` submits what was made")
        return Exit.SUCCEEDED

    return session.run(args, work, drive=False)
