"""
What watching 1,000 running jobs costs a real slurmrestd 26.05: requests, and bytes.

The jobs are allocations without a script, so that all of them run and none needs a process
of its own. Production's monitor and manager watch them; a relay counts on the wire. First
nothing moves, then 1 % of them end each minute and as many begin. The other side reads
the full list as often.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from msgspec.structs import replace

from bascule.managers.slurm.connecting import connect
from bascule.managers.slurm.manager import SlurmManager
from bascule.managers.slurm.note import Note
from bascule.model import Handle, JobStatus, Ref, Report
from bascule.monitor import Monitor
from bascule.wiring import OWN_MACHINE, SystemClock
from bench import ahead
from bench.bare import Bare
from bench.figure import Figure
from bench.relay import Relay
from bench.submitting import bare_of, target_of
from tests.testbed.slurm import SlurmCluster, SlurmSpec

SHARED = "PartitionName=crowd Nodes=ALL Default=NO MaxTime=INFINITE State=UP OverSubscribe=FORCE:64"
HOUR = 3600.0


class Place:
    """What a manager needs of where it is used."""

    clock = SystemClock()
    home = Path("/nowhere")
    policy = OWN_MACHINE.policy

    async def secret(self, namespace: str, name: str, key: str) -> str:
        """Return nothing: the token comes from the environment."""
        raise NotImplementedError


class Allocations:
    """Jobs that run and do nothing, put there by a plain client."""

    def __init__(self, bare: Bare) -> None:
        self._bare = bare
        self._there = bare.connection()
        self._count = 0

    def begin(self) -> Handle:
        """Let one more run."""
        self._count += 1
        key = f"watched-bench-{self._count:08d}-1"
        description = {
            "name": key,
            "comment": key,
            "partition": "crowd",
            "tasks": 1,
            "current_working_directory": "/tmp",  # noqa: S108 - of the cluster, not ours
            "environment": ["PATH=/bin"],
            "time_limit": {"set": True, "number": 600},
        }
        path = f"/slurm/{self._bare.version}/job/allocate"
        answer = self._bare.json(self._there, "POST", path, {"job": description})
        return Handle(id=str(answer["job_id"]), key=key, place=Note(folder="/tmp").written())  # noqa: S108

    def end(self, handle: Handle) -> None:
        """Let one end."""
        self._bare.call(self._there, "DELETE", f"/slurm/{self._bare.version}/job/{handle.id}")


@contextmanager
def crowded(count: int) -> Iterator[tuple[SlurmCluster, Allocations, list[Handle]]]:
    """Start a cluster with *count* running jobs."""
    with SlurmCluster(SlurmSpec(version="26.05", extra_conf=SHARED)) as cluster:
        allocations = Allocations(bare_of(cluster))
        handles = [allocations.begin() for _ in range(count)]
        ahead.go()
        wait_until_running(cluster, count)
        yield cluster, allocations, handles


def wait_until_running(cluster: SlurmCluster, count: int) -> None:
    """Wait until so many jobs run."""
    for _ in range(600):
        if len(cluster.run("squeue", "-h", "-t", "R", "-o", "%A").split()) >= count:
            return
        time.sleep(0.2)
    raise RuntimeError(f"{count} jobs do not run:\n{cluster.run('squeue', '-h')[:2000]}")


class Watch:
    """Production's monitor over production's manager, behind a relay."""

    def __init__(self, manager: SlurmManager) -> None:
        self._handles: dict[Ref, Handle] = {}
        self.ended: set[Ref] = set()
        self.monitor = Monitor(
            manager.observe,
            manager.abilities,
            SystemClock(),
            wake=self._woken,
            heard=lambda trouble: None,
            luck=Random(7),
        )

    def track(self, handle: Handle) -> None:
        """Watch one more."""
        ref = Ref("default", handle.key)
        self._handles[ref] = handle
        self.monitor.track(ref, handle, JobStatus())

    def _woken(self, ref: Ref) -> None:
        """Do what the core does with news: take it in, and watch no more what has ended."""
        answer = self.monitor.news(ref)
        if answer is None:
            return
        self.monitor.taken_in(ref, answer)
        if isinstance(answer, Report) and answer.is_over:
            self.ended.add(ref)
            asyncio.get_running_loop().call_soon(self.monitor.untrack, ref)


async def count(
    cluster: SlurmCluster, allocations: Allocations, handles: list[Handle], seconds: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Watch for *seconds* while nothing moves, then as long while 1 % end each minute."""
    async with Relay(cluster.url) as relay:
        target = target_of(cluster, "Held")
        manager = connect(replace(target, spec=replace(target.spec, url=relay.url)), "default", Place())
        await manager.probe()
        watch = Watch(manager)
        for handle in handles:
            watch.track(handle)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(watch.monitor.run())
            await asyncio.sleep(min(60.0, seconds))  # until the interval has grown to its rest
            calm = await _during(relay, watch, asyncio.sleep(seconds))
            moving = await _during(relay, watch, _churn(allocations, handles, watch, seconds))
            running.cancel()
        await manager.aclose()
    return calm, moving


async def _during(relay: Relay, watch: Watch, work: object) -> dict[str, float]:
    requests, size, polls, began = relay.requests, relay.bytes, watch.monitor.polls, time.perf_counter()
    await work  # type: ignore[misc]
    return {
        "requests": relay.requests - requests,
        "bytes": relay.bytes - size,
        "polls": watch.monitor.polls - polls,
        "seconds": time.perf_counter() - began,
    }


async def _churn(allocations: Allocations, handles: list[Handle], watch: Watch, seconds: float) -> None:
    """End 1 % of the jobs each minute, one after the other, and begin as many."""
    pause = min(60.0 / max(1.0, len(handles) / 100), seconds / 4)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        await asyncio.to_thread(allocations.end, handles.pop(0))
        fresh = await asyncio.to_thread(allocations.begin)
        handles.append(fresh)
        watch.track(fresh)
        await asyncio.sleep(pause)


def measure(jobs: int = 1000, seconds: float = 240.0) -> list[Figure]:
    """Return the rows for requests and bytes."""
    with crowded(jobs) as (cluster, allocations, handles):
        size = bare_of(cluster).size_of_list()
        calm, moving = asyncio.run(count(cluster, allocations, handles, seconds))
    hours = jobs * calm["seconds"] / HOUR
    busy_hours = jobs * moving["seconds"] / HOUR
    full = size * moving["polls"]
    requests = Figure(
        "requests",
        (calm["requests"] / hours,),
        {
            "per job-hour while nothing moves": calm["requests"] / hours,
            "requests while nothing moves": calm["requests"],
            "in seconds": round(calm["seconds"]),
            "longest pause between two looks, s": calm["seconds"] / max(1.0, calm["polls"]),
            "per job-hour while 1 % end each minute and as many begin": moving["requests"] / busy_hours,
            "per job-hour of a poller that asks for each job every 30 s": 120.0,
        },
    )
    saved = Figure(
        "bytes",
        (moving["bytes"] / full,),
        {
            "bytes per job-hour": moving["bytes"] / busy_hours,
            "bytes per job-hour of the full list, read as often": full / busy_hours,
            "bytes of the full list": size,
            "looks": moving["polls"],
            "bytes per job-hour while nothing moves": calm["bytes"] / hours,
        },
    )
    return [requests, saved]
