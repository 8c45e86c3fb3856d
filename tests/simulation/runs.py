"""Run seeds: one, or many on all cores, in order and without end to any of them."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulation.judge import verdicts
from tests.simulation.record import Record
from tests.simulation.story import story_of
from tests.simulation.world import homes, tell

CHUNK = 25
LONGEST = 10.0
"""Seconds of processor time after which a seed is said to go round in circles without a step."""


@dataclass(slots=True)
class Outcome:
    """What came of some seeds in a row."""

    seeds: range
    failed: dict[int, list[str]] = field(default_factory=dict)
    simulated: float = 0.0
    took: float = 0.0


class Stuck(BaseException):
    """A seed computes without an end; nothing may catch this."""


def one(seed: int) -> tuple[Record, list[str]]:
    """Run one seed; return what happened, and what is wrong with it."""
    with ready() as run:
        return run(seed)


@contextmanager
def ready() -> Iterator:
    """Give a function that runs a seed."""
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="bascule-sim-", dir=memory if memory.is_dir() else None))
    hook, sys.unraisablehook = (
        sys.unraisablehook,
        lambda _: None,
    )  # the dead may not clean up, and Python would complain
    handler = signal.signal(signal.SIGVTALRM, _give_up)
    try:
        with homes(root) as fresh:

            def run(seed: int) -> tuple[Record, list[str]]:
                signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
                try:
                    record = tell(story_of(seed), fresh())
                finally:
                    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                return record, verdicts(record)

            yield run
            gc.collect()  # while nobody listens to the complaints of the dead
    finally:
        signal.signal(signal.SIGVTALRM, handler)
        sys.unraisablehook = hook


def few(seeds: range) -> Outcome:
    """Run *seeds* one after another."""
    outcome = Outcome(seeds)
    began = time.process_time()
    gc.disable()  # a run makes much garbage in circles, none of which lasts
    try:
        with ready() as run:
            for seed in seeds:
                try:
                    record, wrong = run(seed)
                    outcome.simulated += record.seconds
                except Stuck:
                    wrong = [f"computed for {LONGEST:.0f} s without a step"]
                if wrong:
                    outcome.failed[seed] = wrong
    finally:
        gc.enable()
    outcome.took = time.process_time() - began
    return outcome


def many(seeds: range, *, processes: int, deadline: float | None = None) -> Iterator[Outcome]:
    """Run *seeds* on several cores, and give what came of them in order; none is begun after the *deadline*."""
    chunks = [range(at, min(at + CHUNK, seeds.stop)) for at in range(seeds.start, seeds.stop, CHUNK)]
    if processes == 1:
        for chunk in chunks:
            if deadline is not None and time.monotonic() >= deadline:
                return
            yield few(chunk)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        running = []
        for chunk in [*chunks, *[None] * processes * 2]:
            if chunk is not None and (deadline is None or time.monotonic() < deadline):
                running.append(pool.apply_async(few, (chunk,)))
            if running and (chunk is None or len(running) >= processes * 2):
                yield running.pop(0).get()


def _give_up(number: int, frame: object) -> None:
    raise Stuck
