"""``bascule files``: what a job has written."""

from __future__ import annotations

import argparse

from bascule.bridge import Bridge
from bascule.cli import output, session
from bascule.cli.arguments import Parser
from bascule.cli.exits import Exit
from bascule.cli.naming import job_name
from bascule.cli.workplace import changed_files, folder_of

WHAT = """
List the files of a job: what was brought home, and of a job that ran on this machine what
changed in its working directory while it ran (by whoever). Files elsewhere are not listed.
"""
EXAMPLES = """
bascule files train
"""


def add_arguments(parser: Parser) -> None:
    """Say what `files` takes."""
    parser.add_argument("name", metavar="NAME", type=job_name, help="a job")


def main(args: argparse.Namespace) -> int:
    """List them; return the exit code."""

    async def work(bridge: Bridge) -> int:
        job = await bridge.job(args.name).get()
        await session.catch_up(bridge)
        job = await bridge.job(args.name).get()
        rows = [(stored.path, f"{stored.bytes:,}", f"stored in {stored.store}") for stored in job.status.outputs]
        if not rows:
            folder = await folder_of(bridge, job)
            rows = [(found.path, f"{found.size:,}", str(folder)) for found in changed_files(folder, job)]
        if rows:
            output.table(("PATH", "BYTES", "WHERE"), rows)
        else:
            output.say(f"job/{job.name} has no files" if job.status.started_at else f"job/{job.name} has not started")
        return Exit.SUCCEEDED

    return session.run(args, work, drive=False)
