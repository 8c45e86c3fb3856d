"""``bascule fetch``: bring a file of a job here."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from bascule.bridge import Bridge
from bascule.cli import output, session
from bascule.cli.arguments import Parser
from bascule.cli.exits import Exit
from bascule.cli.naming import job_name
from bascule.cli.workplace import file_in, folder_of
from bascule.errors import Mistake, StoreFailed

WHAT = """
Copy the file PATH of a job, as `files` lists it, into the current folder. For now only
of jobs that ran on this machine. Nothing that is there is overwritten.
"""
EXAMPLES = """
bascule fetch train model.bin
bascule fetch train logs/loss.csv -o loss.csv
bascule fetch train report.txt -o -
"""


def add_arguments(parser: Parser) -> None:
    """Say what `fetch` takes."""
    parser.add_argument("name", metavar="NAME", type=job_name, help="a job")
    parser.add_argument("path", metavar="PATH", help="a file in its working directory")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to; - is stdout")


def main(args: argparse.Namespace) -> int:
    """Bring it; return the exit code."""

    async def work(bridge: Bridge) -> int:
        job = await bridge.job(args.name).get()
        source = file_in(await folder_of(bridge, job), args.path, job)
        if args.output == "-":
            _print(source)
        else:
            _copy(source, Path(args.output or source.name))
        return Exit.SUCCEEDED

    return session.run(args, work, drive=False)


def _print(source: Path) -> None:
    try:
        with source.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except OSError as fault:
        raise output.unwritable(fault) from fault


def _copy(source: Path, to: Path) -> None:
    if to.is_dir():
        to /= source.name
    if to.exists() and to.samefile(source):
        raise Mistake(f"`{to}` is the job's own file already", hint="name another place with `-o`")
    beside = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        shutil.copy2(source, beside)
        os.link(beside, to)  # fails where there is something, and leaves no half a file
    except FileExistsError as fault:
        raise Mistake(f"there is a file `{to}` already", hint="name another with `-o`") from fault
    except OSError as fault:
        raise StoreFailed(f"`{to}` cannot be written: {fault.strerror}", hint="name another place with `-o`") from fault
    finally:
        beside.unlink(missing_ok=True)
    output.data(str(to))
