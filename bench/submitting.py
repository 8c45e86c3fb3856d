"""
Submits a second through Bascule, and by a bare loop, at the same slurmrestd, in turns.

All nodes are drained, so that what is measured is submitting and no job's start. The clock
runs from the first durable accept until Slurm has released (direct: accepted) the last.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from bascule.bridge import connect
from bascule.model import Credentials, Job, JobSpec, Run, Target, TargetFiles, TargetRef, TargetSpec
from bascule.platforms.embedded.home import DATABASE
from bench import ahead
from bench.bare import SCRIPT, Bare, median
from bench.figure import Figure
from bench.workspace import workspace
from tests.testbed.slurm import SlurmCluster, SlurmSpec

AT_ONCE = 8
"""Connections: as many as Bascule opens to one target."""
TOKEN = "BENCH_SLURM_TOKEN"  # noqa: S105 - a variable's name

RELEASED = (
    "outside_id IS NOT NULL AND"
    " (json_extract(status, '$.releasedAt') IS NOT NULL OR json_extract(status, '$.intent.held') IS NOT 1)"
)

Submission = Literal["Held", "Direct"]


@contextmanager
def drained(version: Literal["22.05", "26.05"] = "26.05") -> Iterator[SlurmCluster]:
    """Start a cluster on which jobs are accepted and none starts."""
    with SlurmCluster(SlurmSpec(version=version)) as cluster:
        cluster.run("scontrol", "update", "nodename=n[1-4]", "state=drain", "reason=bench")
        ahead.go()
        yield cluster


def bare_of(cluster: SlurmCluster) -> Bare:
    """Return the plain client of *cluster*."""
    return Bare(
        cluster.url,
        user=cluster.user,
        token=cluster.token(lifespan=86_400),
        version=cluster.rest_versions[-1],
        folder=str(cluster.jobs_dir),
    )


def target_of(cluster: SlurmCluster, submission: Submission, name: str = "hpc") -> Target:
    """Return a target at *cluster*, as a person would write it."""
    os.environ[TOKEN] = cluster.token(lifespan=86_400)
    return Target(
        namespace="default",
        name=name,
        uid="",
        spec=TargetSpec(
            manager="slurm",
            url=cluster.url,
            credentials=Credentials(user=cluster.user, env=TOKEN),
            files=TargetFiles(root=str(cluster.jobs_dir)),
            submission=submission,
        ),
    )


def job_named(name: str, target: str = "hpc") -> Job:
    """Return the job that both sides submit."""
    return Job("default", name, "", JobSpec(target=TargetRef(target), run=Run(script=SCRIPT)))


async def rate(cluster: SlurmCluster, count: int, submission: Submission, folder: Path) -> float:
    """Return how many jobs a second Bascule brings to Slurm from an empty home."""
    home = folder / f"home-{time.time_ns()}"
    async with connect(home) as bridge:
        await bridge.apply_target(target_of(cluster, submission))
        with closing(Outside(home)) as outside:
            await bridge.store.create(job_named("first"))
            await outside.reach(1)  # the version is found out, the connection is there
            began = time.perf_counter()
            await asyncio.gather(*(bridge.store.create(job_named(f"job-{n}")) for n in range(count)))
            await outside.reach(count + 1)
            return count / (time.perf_counter() - began)


class Outside:
    """Counts the jobs that are outside and may run, by what is on disk; costs next to nothing until there are enough."""

    def __init__(self, home: Path) -> None:
        self._database = sqlite3.connect(f"file:{home / DATABASE}?mode=ro", uri=True)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    async def reach(self, count: int) -> None:
        """Wait until there are so many."""
        while self._count("outside_id IS NOT NULL") < count or self._count(RELEASED) < count:
            await asyncio.sleep(0.02)

    def _count(self, condition: str) -> int:
        return int(self._database.execute(f"SELECT count(*) FROM jobs WHERE {condition}").fetchone()[0])


def measure(count: int, rounds: int, *, submission: Submission) -> Figure:
    """Return the row for *submission*: the median of the ratios of *rounds* pairs, in turns."""
    held = submission == "Held"
    with drained() as cluster, workspace() as folder:
        bare = bare_of(cluster)
        ours, theirs, looked = [], [], []
        bare.rate(min(count, 50), at_once=AT_ONCE, held=held)  # warm
        for _ in range(rounds):
            _clear(cluster)
            theirs.append(bare.rate(count, at_once=AT_ONCE, held=held))
            _clear(cluster)
            ours.append(asyncio.run(rate(cluster, count, submission, folder)))
            print(f"     {ours[-1]:.0f} of {theirs[-1]:.0f} a second", flush=True)
            if held:
                _clear(cluster)
                looked.append(bare.rate(count, at_once=AT_ONCE, held=held, looks=True))
    parts = {"through Bascule, submits/s": median(ours), "bare loop, submits/s": median(theirs)}
    series = {"through Bascule": list(enumerate(ours)), "bare loop": list(enumerate(theirs))}
    if looked:
        parts["bare loop that looks at each job before it releases it, submits/s"] = median(looked)
    ratio = median([one / other for one, other in zip(ours, theirs, strict=True)])
    return Figure(f"submit-{submission.lower()}", (ratio,), parts, series)


def _clear(cluster: SlurmCluster) -> None:
    """Leave both sides the same short queue."""
    cluster.run("scancel", "-u", cluster.user, check=False)
    for _ in range(100):
        if not cluster.run("squeue", "-h", "-o", "%A").split():
            return
        time.sleep(0.1)
