"""
Look for the planted bugs (`planted`): ``python -m tests.simulation.mutants``.

Prints a table of after how many seeds each was found, as `docs/reliability.md` has it, and
ends with 1 where one was not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from dataclasses import dataclass
from functools import partial

from tests.simulation.planted import MUTANTS, planted
from tests.simulation.runs import Stuck, ready


@dataclass(frozen=True, slots=True)
class Hunt:
    """How the search for one mutant went."""

    name: str
    found_at: int | None
    seeds: int
    wrong: str = ""


def hunt(name: str, seeds: range) -> Hunt:
    """Look for the mutant *name* in *seeds*, up to the first that finds it."""
    with planted(name), ready() as run:
        for seed in seeds:
            try:
                _, wrong = run(seed)
            except Stuck:
                wrong = ["computed without an end"]
            if wrong:
                return Hunt(name, seed, seed - seeds.start + 1, wrong[0])
    return Hunt(name, None, len(seeds))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="which; all by default")
    parser.add_argument("--seeds", type=int, default=1000, help="how many at most for each")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; all cores by default")
    asked = parser.parse_args()
    names = asked.names or list(MUTANTS)
    seeds = range(asked.first, asked.first + asked.seeds)
    print("| planted bug | found at seed | by |", "|---|---:|---|", sep="\n")
    missed = 0
    with multiprocessing.get_context("spawn").Pool(asked.jobs, maxtasksperchild=1) as pool:
        for found in pool.imap(partial(hunt, seeds=seeds), names):
            words = found.name.replace("_", " ")
            missed += found.found_at is None
            at = f"not in {found.seeds}" if found.found_at is None else found.found_at
            print(f"| {words} | {at} | {found.wrong[:140]} |", flush=True)
    print(f"{len(names) - missed} found, {missed} missed")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
