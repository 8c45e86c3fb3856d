"""
Submits a second to a real Ray head, through Bascule and by a bare loop, and what watching those jobs costs it.

All ask for more processors than there are, so that what is measured is submitting and no job's start. Ray keeps
such jobs, and looks at each of them every second: the rounds are small, and the sides take turns.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from bascule.bridge import connect
from bascule.managers.ray import connect as connect_manager
from bascule.managers.ray.description import body_of
from bascule.managers.ray.options import TargetOptions
from bascule.model import Job, JobSpec, Resources, Run, Target, TargetRef, TargetSpec, key_for
from bench.bare import Bare, median, per_second
from bench.figure import Figure
from bench.relay import Relay
from bench.submitting import AT_ONCE, Outside
from bench.watching import HOUR, Place, Watch
from bench.workspace import workspace
from tests.testbed.ray_head import RayHead

MORE_THAN_THERE_ARE = 64


def job_named(name: str) -> Job:
    """Return the job that both sides submit."""
    resources = Resources(cpus_per_task=MORE_THAN_THERE_ARE)
    return Job("default", name, name, JobSpec(TargetRef("rays"), run=Run(command=("true",)), resources=resources))


def target_at(url: str) -> Target:
    """Return a target as a person would write it."""
    return Target("default", "rays", "", TargetSpec("ray", url=url))


async def through_bascule(url: str, count: int, folder: Path) -> float:
    """Return how many jobs a second Bascule brings to the head from an empty home."""
    home = folder / f"home-{time.time_ns()}"
    async with connect(home) as bridge:
        await bridge.apply_target(target_at(url))
        with closing(Outside(home)) as outside:
            await bridge.store.create(replace(job_named("first"), uid=""))
            await outside.reach(1)
            began = time.perf_counter()
            await asyncio.gather(*(bridge.store.create(replace(job_named(f"job-{n}"), uid="")) for n in range(count)))
            await outside.reach(count + 1)
            return count / (time.perf_counter() - began)


def by_hand(url: str, count: int) -> float:
    """Return how many jobs a second the same requests bring there, without anything around them."""
    bare = Bare(url, user="", token="", version="", folder="")
    options, round_ = TargetOptions(), time.time_ns()

    def one(there: object, n: int) -> None:
        job = job_named(f"bare-{round_}-{n}")
        key = key_for(f"bare-{n}", installation="bench", uid=job.name, attempt=1)
        bare.call(there, "POST", "/api/jobs/", body_of(job, options, key=key, package=None, has_secrets=False))  # type: ignore[arg-type]

    return per_second(count, at_once=AT_ONCE, connect=bare.connection, step=one)


async def watched(url: str, seconds: float) -> dict[str, float]:
    """Watch all that the head has for *seconds*, while nothing moves."""
    async with Relay(url) as relay:
        manager = connect_manager(target_at(relay.url), "default", Place())
        watch = Watch(manager)
        strays = await manager.sweep("bench")
        for stray in strays:
            watch.track(stray.handle)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(watch.monitor.run())
            await asyncio.sleep(min(60.0, seconds))  # until the interval has grown to its rest
            requests, size, began = relay.requests, relay.bytes, time.perf_counter()
            await asyncio.sleep(seconds)
            spent = time.perf_counter() - began
            running.cancel()
        await manager.aclose()
    return {
        "jobs": len(strays),
        "requests": relay.requests - requests,
        "bytes": relay.bytes - size,
        "seconds": round(spent, 1),
    }


def measure(count: int, rounds: int, seconds: float) -> list[Figure]:
    """Return the rows of Ray."""
    ours, theirs = [], []
    with RayHead() as head, workspace() as folder:
        by_hand(head.url, min(count, 10))  # the first submit of all takes a second
        for turn in range(rounds):
            # Each job that waits makes the head slower: who goes first changes.
            if turn % 2:
                ours.append(asyncio.run(through_bascule(head.url, count, folder)))
            theirs.append(by_hand(head.url, count))
            if not turn % 2:
                ours.append(asyncio.run(through_bascule(head.url, count, folder)))
        seen = asyncio.run(watched(head.url, seconds))
    parts = {"through Bascule, submits/s": median(ours), "bare loop, submits/s": median(theirs)}
    job_hours = seen["jobs"] * seen["seconds"] / HOUR
    per_hour = seen["requests"] / seen["seconds"] * HOUR
    return [
        Figure("ray-submit", (median(ours) / median(theirs),), parts),
        Figure(
            "ray-requests",
            (per_hour / 1000,),
            {**seen, "per job-hour, of so many jobs": seen["requests"] / job_hours, "requests an hour": per_hour},
            remark="one list each look, however many jobs there are",
        ),
    ]
