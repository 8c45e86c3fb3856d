"""
``bascule get``: tables for people, objects for programs.

The table of jobs is read straight from the columns, and with ``--cached`` nothing else
is imported: it must be there at once. All else is in ``getting``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bascule.cli import output
from bascule.cli.arguments import Parser, add_labels, merged
from bascule.cli.exits import Exit
from bascule.cli.naming import add_kind_and_names, settle
from bascule.cli.spans import age, short
from bascule.errors import Mistake

if TYPE_CHECKING:
    from bascule.platforms.embedded.glance import Line

WHAT = """
List jobs or targets, or those that are named. `-o json` and `-o yaml` give whole objects,
that can be applied again; `-o name` gives one name a line.

Where nobody drives the home, the list is brought up to date first, for a few seconds at
most; `--cached` skips that.
"""
EXAMPLES = """
bascule get jobs
bascule get jobs -l project=x --phase Failed,Cancelled -o wide
bascule get jobs --active
bascule get jobs train -o json
bascule get targets
"""

PHASES = ("Pending", "Submitting", "Queued", "Held", "Running", "Unknown", "Succeeded", "Failed", "Cancelled")
LIVE = PHASES[:6]
HEADER = ("NAME", "PHASE", "REASON", "TARGET", "ID", "AGE")
WIDE = (*HEADER, "TOOK", "ATTEMPT", "EXIT", "TASKS", "MESSAGE")


def add_arguments(parser: Parser) -> None:
    """Say what `get` takes."""
    add_kind_and_names(parser, "jobs or targets", "only these")
    add_labels(parser)
    parser.add_argument(
        "--phase", metavar="PHASE", action="append", type=_phases, default=[], help="only jobs in these phases"
    )
    parser.add_argument("--active", action="append_const", dest="phase", const=LIVE, help="only jobs that are not over")
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), help="in which form")
    parser.add_argument("-w", "--watch", action="store_true", help="go on, with a line for each change")
    parser.add_argument("--cached", action="store_true", help="show what is stored, and look no further")


def main(args: argparse.Namespace) -> int:
    """List them; return the exit code."""
    settle(args, "get", all_of_them=True)
    if args.cached and args.watch:
        raise Mistake("`--cached` looks once, and `--watch` goes on", hint="leave one of them out")
    is_table = args.kind == "job" and args.output not in ("json", "yaml") and not args.watch
    if is_table and args.platform == "embedded" and (args.cached or _all_is_over(args.home)):
        return show_jobs(args)
    from bascule.cli import getting

    return getting.main(args)


def _all_is_over(home: str | None) -> bool:
    """Tell whether there are jobs and none of them lives, so that there is nothing to catch up with."""
    from bascule.platforms.embedded.glance import glance

    any_job = next(iter(glance(home)), None)
    return any_job is not None and next(iter(glance(home, phases=LIVE)), None) is None


def show_jobs(args: argparse.Namespace) -> int:
    """Print the jobs as they are stored."""
    from bascule.platforms.embedded.glance import glance

    phases = [phase for some in args.phase for phase in some]
    wide = args.output == "wide"
    return show_lines(
        args, list(glance(args.home, names=args.names, phases=phases, labels=merged(args.labels), tasks=wide))
    )


def show_lines(args: argparse.Namespace, found: list[Line]) -> int:
    """Print *found*, the jobs that were selected."""
    phases = [phase for some in args.phase for phase in some]
    wide = args.output == "wide"
    must_be_there(args.names, {line.name for line in found}, filtered=bool(phases or args.labels))
    if args.output == "name":
        if found:
            output.data("\n".join(f"job/{line.name}" for line in found))
    elif found:
        now = time.time()
        rows = [row_of(line, wide=wide, now=now) for line in found]
        colours = [output.PHASE_COLOURS.get(line.phase, "") for line in found]
        output.table(WIDE if wide else HEADER, rows, colours=colours, cut=wide)
    else:
        output.say("no jobs" if not (phases or args.labels) else "no such jobs")
    return Exit.SUCCEEDED


def must_be_there(names: list[str], found: set[str], *, filtered: bool = False) -> None:
    """Raise `Mistake` where one of *names* was not found; a filter may have taken it away."""
    absent = [name for name in names if name not in found]
    if absent and not filtered:
        raise Mistake(
            f"there is no job {', '.join(f'`{name}`' for name in absent)}", hint="`bascule get jobs` lists them"
        )


def row_of(line: Line, *, wide: bool, now: float) -> tuple[str, ...]:
    """Return the cells of one job."""
    phase = f"{line.phase}, deleting" if line.deleted else line.phase
    row = (line.name, phase, line.reason, line.target, line.id or "", age(now - line.created))
    if not wide:
        return row
    took = short((line.finished or now) - line.started) if line.started else ""
    code = "" if line.exit_code is None else str(line.exit_code)
    tasks = f"{line.done}/{line.total}" if line.total else ""
    if line.failed:
        tasks += f", {line.failed} failed"
    return (*row, took, str(line.attempt or ""), code, tasks, line.message)


def _phases(text: str) -> list[str]:
    return list(_phases_in(text))


def _phases_in(text: str) -> Iterator[str]:
    known = {phase.lower(): phase for phase in PHASES}
    for word in text.split(","):
        if word.strip().lower() not in known:
            raise Mistake(f"there is no phase `{word.strip()}`", hint=f"there are {', '.join(PHASES)}")
        yield known[word.strip().lower()]
