"""
Measure what Bascule costs, each figure beside its other side in the same run; as root, for the real Slurm.

    python -m bench [--only NAME ...] [--state FILE] [--ahead] [--tiny] [--figures FILE] [--page FILE]

Writes the figures as JSON and makes the page of them; with --only, the others stay as they were. A run that was
stopped goes on where it was, by --state. --ahead goes before the machine's other work. --page-only measures
nothing, and --tiny takes sizes that mean nothing, to see that everything runs.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bascule.cli import logbook
from bench import ahead, bulkhead, crowd, machine, page, rays, storing, submitting, watching
from bench.figure import GOALS, Figure, Result, meets
from bench.progress import Progress
from bench.workspace import stop_in_order

ROOT = Path(__file__).resolve().parents[1]


class Sizes(NamedTuple):
    """How much is measured."""

    submits: int = 400
    rounds: int = 5
    watched: int = 1000
    seconds: float = 180.0
    few: int = 10_000
    many: int = 100_000
    looks: int = 3
    finished: int = 1_000_000
    table: int = 10_000
    each: int = 100


TINY = Sizes(submits=6, rounds=1, watched=20, seconds=4.0, few=20, many=60, looks=1, finished=100, table=100, each=4)

Measured = Callable[[Sizes], list[Figure]]

MEASUREMENTS: dict[str, Measured] = {
    "submit-held": lambda size: [submitting.measure(size.submits, size.rounds, submission="Held")],
    "submit-direct": lambda size: [submitting.measure(size.submits, size.rounds, submission="Direct")],
    "watching": lambda size: watching.measure(size.watched, size.seconds),
    "crowd": lambda size: crowd.measure(size.few, size.many, size.looks),
    "accepts": lambda size: [storing.accepts(2 * size.rounds - 1, min(1.0, size.seconds))],
    "history": lambda size: [storing.history(size.finished, size.submits, size.rounds)],
    "bulkhead": lambda size: [bulkhead.measure(size.each, 0.05, size.rounds)],
    "ray": lambda size: rays.measure(size.submits // 20 or 1, size.rounds, min(60.0, size.seconds)),
    "table": lambda size: [storing.table(size.table, 2 * size.rounds - 1)],
}


def main() -> int:
    """Measure; return 1 where a figure is below what it must be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=[])
    parser.add_argument("--state", type=Path, help="remember in this file what was measured, and go on after that")
    parser.add_argument("--ahead", action="store_true", help="go before the machine's other work; as root")
    parser.add_argument("--page-only", action="store_true", help="make the page of the figures that are there")
    parser.add_argument("--tiny", action="store_true", help="sizes that mean nothing")
    parser.add_argument("--figures", type=Path, default=ROOT / "bench/figures.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/benchmarks.md")
    asked = parser.parse_args()
    logbook.set_up(0, least=logging.ERROR)
    stop_in_order()
    if asked.ahead:
        ahead.want()
    results = read(asked.figures)
    if not asked.page_only:
        measure(asked, results)
    page.write(asked.page, results)
    print(f"{asked.page} is written", flush=True)
    return int(any(not meets(goal, results[goal.name].figure, goal.least) for goal in GOALS if goal.name in results))


def measure(asked: argparse.Namespace, results: dict[str, Result]) -> None:
    """Measure what was asked for, and keep each figure as soon as it is there."""
    progress = Progress(asked.state)
    # Who names rows wants them anew; all of them are gone through once.
    names = asked.only or [name for name in MEASUREMENTS if name not in progress.done]
    if not asked.only and progress.done:
        print(f"going on after what is measured: {', '.join(progress.done)}", flush=True)
    for number, name in enumerate(names, start=1):
        began = time.monotonic()
        print(f"== [{number}/{len(names)}] {name}", flush=True)
        for figure in MEASUREMENTS[name](TINY if asked.tiny else Sizes()):
            results[figure.goal] = Result(figure, machine.here() | {"ahead": "yes" if asked.ahead else ""})
            print(_line(figure), flush=True)
        print(f"   {time.monotonic() - began:.0f} s", flush=True)
        asked.figures.write_text(json.dumps({key: result.plain() for key, result in results.items()}, indent=1) + "\n")
        progress.note(name)
    if set(MEASUREMENTS) <= set(progress.done):
        progress.finish()


def read(path: Path) -> dict[str, Result]:
    """Return the figures of earlier runs."""
    if not path.exists():
        return {}
    return {key: Result.read(plain) for key, plain in json.loads(path.read_text()).items()}


def _line(figure: Figure) -> str:
    goal = next(goal for goal in GOALS if goal.name == figure.goal)
    values = ", ".join(f"{value:.3g}" for value in figure.values)
    verdict = "aim" if meets(goal, figure, goal.aim) else "met" if meets(goal, figure, goal.least) else "BELOW"
    parts = "".join(f"\n     {name}: {value:,.4g}" for name, value in figure.parts.items())
    return f"   {figure.goal}: {values} {goal.unit} ({verdict}){parts}"


if __name__ == "__main__":
    sys.exit(main())
