"""
What the embedded platform does on this disk: durable accepts, the weight of history, and the quick table.

The other side of accepts is SQLite itself, with the same settings, one commit after the
other, each of one job's text.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from bascule.model import Job, Target, TargetSpec
from bascule.platforms.embedded import Store, open_store
from bascule.platforms.embedded.home import DATABASE
from bascule.runner import Runner
from bascule.wiring import SystemClock
from bench import homes
from bench.bare import median
from bench.figure import Figure
from bench.instant import InstantManager
from bench.workspace import workspace
from tests.platforms import measure as of_the_store

ROOT = Path(__file__).resolve().parents[1]
LOCAL = Target(namespace="default", name="there", uid="", spec=TargetSpec(manager="instant"))
PLAIN_SCRIPT = """
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(
    "SELECT name, phase, reason, target, outside_id, created_at, message FROM jobs ORDER BY id"
)
for name, phase, reason, target, number, created, message in rows:
    print(f"{name:<20} {phase:<10} {reason:<12} {target:<10} {number:<10} {created:<20} {message}")
"""


def accepts(rounds: int, seconds: float) -> Figure:
    """Return the row for durable accepts."""
    of_the_store.SECONDS = seconds
    bare, ours, alone = [], [], []
    with workspace() as folder:
        for turn in range(rounds):
            bare.append(of_the_store.bare_commits(folder))
            many, one = asyncio.run(_accepts(folder / f"home-{turn}"))
            ours.append(many)
            alone.append(one)
    parts = {
        "accepts/s, 64 at a time": median(ours),
        "SQLite's own commits/s": median(bare),
        "accepts/s, one after the other": median(alone),
    }
    return Figure("accepts", (median(ours) / median(bare),), parts)


async def _accepts(home: Path) -> tuple[float, float]:
    async with open_store(home, SystemClock(), drive=True) as store:

        async def accept(worker: int, n: int) -> None:
            await store.create(Job("default", f"run-{time.time_ns()}-{worker}-{n}", "", of_the_store.SPEC))

        return await of_the_store.per_second(accept), await of_the_store.per_second(accept, at_once=1)


def history(finished: int, count: int, rounds: int) -> Figure:
    """Return the row for the submit rate beside so many finished jobs, by a manager that costs nothing."""
    with workspace() as folder:
        empty, full = folder / "empty", folder / "full"
        asyncio.run(homes.make(empty, LOCAL))
        asyncio.run(homes.make(full, LOCAL, finished=finished))
        rates: dict[Path, list[float]] = {empty: [], full: []}
        for turn in range(rounds):
            for home in (empty, full) if turn % 2 else (full, empty):
                rates[home].append(asyncio.run(_submits(home, count)))
        size = (full / DATABASE).stat().st_size / 2**20
    parts = {
        f"submits/s with {finished:,} finished jobs": median(rates[full]),
        "submits/s with none": median(rates[empty]),
        "MiB of the database": size,
    }
    return Figure("history", (median(rates[full]) / median(rates[empty]),), parts)


async def _submits(home: Path, count: int) -> float:
    """Return how many jobs a second are accepted, submitted held, and released."""
    clock = SystemClock()
    manager = InstantManager(clock)

    async def connect(target: Target, namespace: str) -> InstantManager:
        return manager

    async with open_store(home, clock, drive=True) as store, asyncio.TaskGroup() as tasks:
        runner = tasks.create_task(Runner(store, connect, clock).run())
        await asyncio.sleep(0.5)
        before, prefix = _outside(store), f"new-{time.time_ns()}"
        began = time.perf_counter()
        spec = homes.spec("there")
        await asyncio.gather(*(store.create(Job("default", f"{prefix}-{n}", "", spec)) for n in range(count)))
        while _outside(store) < before + count:
            await asyncio.sleep(0.02)
        took = time.perf_counter() - began
        runner.cancel()
    return count / took


def _outside(store: Store) -> int:
    with closing(sqlite3.connect(f"file:{store.home / DATABASE}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT count(*) FROM jobs WHERE live = 1 AND phase IN ('Queued', 'Running')")
        return int(rows.fetchone()[0])


def table(jobs: int, rounds: int) -> Figure:
    """Return the row for the quick table: the shortest of *rounds*, on both sides."""
    with workspace() as folder:
        home = folder / "home"
        asyncio.run(homes.make(home, LOCAL, finished=jobs))
        bascule = [sys.executable, "-m", "bascule", "get", "jobs", "--cached", "--home", str(home)]
        plain = [sys.executable, "-c", PLAIN_SCRIPT, str(home / DATABASE)]
        ours, theirs = [], []
        for _ in range(rounds):
            theirs.append(_seconds(plain, jobs))
            ours.append(_seconds(bascule, jobs))
    return Figure("table", (min(ours) / min(theirs),), {"bascule, s": min(ours), "plain script, s": min(theirs)})


def _seconds(command: list[str], rows: int) -> float:
    began = time.perf_counter()
    settings = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    printed = subprocess.run(command, stdout=subprocess.PIPE, env=settings, cwd=ROOT, check=True).stdout
    took = time.perf_counter() - began
    assert printed.count(b"\n") >= rows
    return took
