"""
Measure what the embedded store does on this disk; no test, figures to look at.

    PYTHONPATH=src:. python tests/platforms/measure.py [FOLDER]

Durable accepts a second (64 at a time, each answered after its commit) against SQLite's own commits a second, one after
the other, of the same text in a table of one column; saves and reads beside it. With a FOLDER whose home holds many
finished jobs, accepts there against accepts in an empty home.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, closing
from itertools import count
from pathlib import Path

from bascule.model import Job, JobSpec, Phase, Run, TargetRef, to_json
from bascule.platforms.embedded import Store, open_store
from bascule.ports import Selector
from tests.contracts.platform_world import event, in_phase
from tests.virtual import FakeClock

SPEC = JobSpec(target=TargetRef("local"), run=Run(script="#!/bin/sh\n" + "echo a line of a script\n" * 20))
SECONDS = 4.0
AT_ONCE = 64


def bare_commits(folder: Path) -> float:
    """Return how many commits a second SQLite makes here, one after the other."""
    text = to_json(SPEC).decode()
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, spec TEXT)")
        done, start = 0, time.perf_counter()
        while time.perf_counter() < start + SECONDS:
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO jobs (spec) VALUES (?)", (text,))
            database.execute("COMMIT")
            done += 1
        return done / (time.perf_counter() - start)


async def per_second(step: Callable[[int, int], Awaitable[object]], at_once: int = AT_ONCE) -> float:
    """Return how often a second *step* is done, by so many at once."""
    start = time.perf_counter()

    async def work(worker: int) -> int:
        done = 0
        while time.perf_counter() < start + SECONDS:
            await step(worker, done)
            done += 1
        return done

    total = sum(await asyncio.gather(*map(work, range(at_once))))
    return total / (time.perf_counter() - start)


async def measure(store: Store) -> dict[str, float]:
    """Return figures of one home."""
    jobs: dict[int, Job] = {}
    run, numbers = time.time_ns(), count()

    async def accept(worker: int, n: int) -> None:
        jobs[worker] = await store.create(Job("default", f"run-{run}-{next(numbers)}", "", SPEC))

    async def save(worker: int, n: int) -> None:
        phase = Phase.RUNNING if n % 2 else Phase.QUEUED
        jobs[worker] = await store.save(in_phase(jobs[worker], phase, message=str(n)), [event(message=str(n))])

    async def read(worker: int, n: int) -> None:
        await store.get(jobs[n % AT_ONCE].ref)

    return {
        "accepts/s": await per_second(accept),
        "accepts/s, one after the other": await per_second(accept, at_once=1),
        "saves with an event/s": await per_second(save),
        "reads/s": await per_second(read, at_once=1),
    }


async def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_store(Path(folder) / "home", FakeClock(), drive=True) as store:
            bare = [bare_commits(Path(folder))]
            empty = await measure(store)
            bare.append(bare_commits(Path(folder)))  # the machine may have other work: before and after
            print(f"{bare[0]:10.0f}  bare commits/s, {bare[1]:.0f} afterwards")
            for name, figure in empty.items():
                print(f"{figure:10.0f}  {name}   (x{2 * figure / sum(bare):.2f} of bare commits)")
    for home in map(Path, sys.argv[1:]):
        async with open_store(home, FakeClock(), drive=True) as store:
            full = await measure(store)
            for name, figure in full.items():
                print(f"{figure:10.0f}  {name} in {home}   (x{figure / empty[name]:.2f} of an empty home)")
            start = time.perf_counter()
            async with aclosing(store.list(Selector(live=True))) as jobs:
                live = sum([1 async for _ in jobs])
            print(f"{live / (time.perf_counter() - start):10.0f}  live jobs listed/s (of {live})")


if __name__ == "__main__":
    asyncio.run(main())
