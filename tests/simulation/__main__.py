"""
Run simulations: ``python -m tests.simulation --seeds 1000``.

A failing seed is printed with the command that replays it; the last line counts. With
``--state FILE`` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from bascule.model import Job, to_json
from tests.simulation.runs import Outcome, many, one

PROGRESS = 60.0
"""Seconds after which it is said again how far the run is."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many, unless --minutes ends it first")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first one")
    parser.add_argument("--seed", type=int, help="replay one, and tell what happened")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; all cores by default")
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument("--state", type=Path, help="remember in this file how far it came, and go on from there")
    asked = parser.parse_args()
    if asked.seed is not None:
        return replay(asked.seed)
    return simulate(asked)


def replay(seed: int) -> int:
    """Run one seed, and print what happened."""
    record, wrong = one(seed)
    story = record.story
    print(f"seed {seed}: a manager like {story.kind}, storm {story.storm:g} until {story.storm_until:g} s,", end=" ")
    print(f"purge {story.purge_after}, active jobs {story.active_jobs}")
    for at, job in story.jobs:
        print(f"{at:10.3f} people   submit {job.name} {json_of(job)} courses {story.courses[job.name]}")
    print(*record.lines, sep="\n")
    print(f"{record.seconds:.0f} s, {record.steps} steps, trace {record.trace}, requests {record.requests}")
    print(*(f"WRONG: {what}" for what in wrong), sep="\n")
    print(f"{int(not wrong)} passed, {int(bool(wrong))} failed")
    return int(bool(wrong))


def json_of(job: Job) -> str:
    """Return what *job* asks for."""
    return to_json(job.spec).decode()


def simulate(asked: argparse.Namespace) -> int:
    """Run many seeds, on all cores."""
    done = read_state(asked.state, asked.first)
    last = asked.first + asked.seeds
    deadline = None if asked.minutes is None else time.monotonic() + asked.minutes * 60
    began, before, seconds, cpu = time.monotonic(), done["next"], 0.0, 0.0
    said = began
    for outcome in many(range(done["next"], last), processes=asked.jobs, deadline=deadline):
        tell(outcome)
        done["next"] = outcome.seeds.stop
        done["passed"] += len(outcome.seeds) - len(outcome.failed)
        done["failed"] += sorted(outcome.failed)
        seconds += outcome.simulated
        cpu += outcome.took
        if asked.state is not None:
            write_state(asked.state, done)
        if time.monotonic() - said > PROGRESS:
            said = time.monotonic()
            print(f"seed {done['next']:,} of {last:,}, {len(done['failed'])} failed", file=sys.stderr, flush=True)
    took, count = time.monotonic() - began, max(done["next"] - before, 1)
    print(
        f"{count} seeds in {took:.0f} s: {cpu / count * 1000:.1f} ms of one core a seed, "
        f"{seconds / max(cpu, 0.001):,.0f} times real time",
        file=sys.stderr,
    )
    print(f"{done['passed']} passed, {len(done['failed'])} failed")
    return int(bool(done["failed"]))


def tell(outcome: Outcome) -> None:
    """Print the seeds that failed."""
    for seed, wrong in sorted(outcome.failed.items()):
        print(f"seed {seed}: {'; '.join(wrong)}")
        print(f"  replay: make simulate SEED={seed}", flush=True)


def read_state(file: Path | None, first: int) -> dict:
    """Return how far an earlier run came."""
    fresh = {"first": first, "next": first, "passed": 0, "failed": []}
    if file is None or not file.exists():
        return fresh
    state = json.loads(file.read_text())
    return state if state["first"] == first else fresh


def write_state(file: Path, state: dict) -> None:
    """Remember how far this run came."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(json.dumps(state))
    new.replace(file)


if __name__ == "__main__":
    sys.exit(main())
