"""
What 10,000 and 100,000 live jobs cost one process: memory, processor, and the start after kill -9.

The manager is `simulated`, over real HTTP, in a process of its own; all else is production's code.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bascule.model import Credentials, Duration, Limits, Target, TargetSpec
from bascule.platforms.embedded.home import DATABASE
from bench import homes
from bench.figure import Figure
from bench.workspace import workspace

TOKEN = "BENCH_SLURM_TOKEN"  # noqa: S105 - a variable's name
NO_TOKEN = "header.eyJzdW4iOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwMH0.signature"  # noqa: S105 - says `alice`, and signs nothing
ROOT = Path(__file__).resolve().parents[1]
ENDED = 50
"""How many jobs end while nobody drives, at most."""
INTERVAL = 30
FEW = 1000
"""So few are a trial of the code, and are looked at each second."""


@contextmanager
def simulated(count: int) -> Iterator[str]:
    """Start a simulated manager; give its address."""
    with _python("bench.simulated", str(count)) as server:
        assert server.stdout is not None
        yield server.stdout.readline().decode().strip()


@contextmanager
def _python(module: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    settings = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", TOKEN: NO_TOKEN}
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=settings, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def _told(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the driver ended with code {process.wait()}")
    facts: dict[str, Any] = json.loads(line)
    return facts


def target_at(url: str, *, every: int = INTERVAL) -> Target:
    """Return the target of the simulated manager, looked at every so many seconds."""
    limits = Limits(poll_interval=Duration(seconds=every))
    spec = TargetSpec(manager="slurm", url=url, credentials=Credentials(user="alice", env=TOKEN), limits=limits)
    return Target(namespace="default", name="hpc", uid="", spec=spec)


def watch(count: int, folder: Path, looks: int) -> dict[str, float]:
    """Let a process watch *count* jobs; kill it, let some jobs end, and start it again."""
    ended = min(ENDED, count // 2)
    with simulated(count) as url:
        home = folder / f"home-{count}"
        asyncio.run(homes.make(home, target_at(url, every=INTERVAL if count > FEW else 1), running=count))
        with _python("bench.driver", str(home), str(count), str(looks)) as driver:
            fresh = _told(driver)
            use = _told(driver) if looks else {}
        urllib.request.urlopen(urllib.request.Request(f"{url}/end/{ended}", method="POST")).close()  # noqa: S310 - ours
        began = time.perf_counter()
        with _python("bench.driver", str(home), str(count - ended), "0") as driver:
            first = 0.0
            while True:
                over = _ended(home)
                first = first or (time.perf_counter() - began if over else 0.0)
                if over >= ended:
                    break
                time.sleep(0.1)
            all_ended = time.perf_counter() - began
            _told(driver)
            everything = max(all_ended, time.perf_counter() - began)
        return {**use, "rss": fresh["rss"], "first": first, "fresh": everything}


def _ended(home: Path) -> int:
    with closing(sqlite3.connect(f"file:{home / DATABASE}?mode=ro", uri=True)) as database:
        return int(database.execute("SELECT count(*) FROM jobs WHERE live = 0").fetchone()[0])


def measure(few: int = 10_000, many: int = 100_000, looks: int = 3) -> list[Figure]:
    """Return the rows for memory, processor and recovery."""
    with workspace() as folder:
        small = watch(few, folder, 0)
        large = watch(many, folder, looks)
    slope = (large["rss"] - small["rss"]) / (many - few) / 1024
    memory = Figure(
        "memory",
        (slope,),
        {f"MiB with {few:,} jobs": small["rss"] / 2**20, f"MiB with {many:,} jobs": large["rss"] / 2**20},
        {"MiB by live jobs": [(few, small["rss"] / 2**20), (many, large["rss"] / 2**20)]},
    )
    crowd = Figure(
        "crowd",
        (many * 0.5 * INTERVAL / large["cpu"],),
        {
            "live jobs": many,
            "seconds of a processor for each look at them, all other work of the process included": large["cpu"],
            "looks": looks,
            "in seconds": large["seconds"],
        },
        remark="in proportion: half of 30 s of a processor, through what a look costs",
    )
    recovery = Figure(
        "recovery",
        (large["first"], large["fresh"]),
        {f"with {few:,} jobs: first right decision, s": small["first"], f"with {few:,}: all fresh, s": small["fresh"]},
    )
    return [memory, crowd, recovery]
