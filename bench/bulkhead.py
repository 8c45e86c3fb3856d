"""
Ten targets under an even load; then one of them hangs. How long do jobs of the other nine wait?

Measured is the time from a job's durable accept to its release at the manager.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from bascule.model import Handle, Job, Target, TargetSpec
from bascule.platforms.embedded import open_store
from bascule.ports import Order
from bascule.runner import Runner
from bascule.wiring import SystemClock
from bench import homes
from bench.bare import median
from bench.figure import Figure
from bench.instant import InstantManager
from bench.workspace import workspace

TARGETS = 10
ANSWERS_IN = 0.005


class Timed(InstantManager):
    """Notes when each job was released."""

    def __init__(self, clock: SystemClock, released: dict[str, float]) -> None:
        super().__init__(clock, seconds=ANSWERS_IN)
        self._released = released
        self._names: dict[str, str] = {}

    async def submit(self, order: Order) -> Handle:
        """Remember whose handle it is."""
        handle = await super().submit(order)
        self._names[handle.key] = order.job.name
        return handle

    async def release(self, handle: Handle) -> None:
        """Note the time."""
        await super().release(handle)
        self._released[self._names[handle.key]] = time.perf_counter()


async def p99(home: Path, *, each: int, every: float, hangs: bool) -> float:
    """Return the 99th percentile over the jobs of the first nine targets."""
    clock = SystemClock()
    released: dict[str, float] = {}
    accepted: dict[str, float] = {}
    managers = {f"t{n}": Timed(clock, released) for n in range(TARGETS)}
    managers[f"t{TARGETS - 1}"].hangs = hangs

    async def connect(target: Target, namespace: str) -> InstantManager:
        return managers[target.name]

    async with open_store(home, clock, drive=True) as store, asyncio.TaskGroup() as tasks:
        for name in managers:
            await store.put_target(Target(namespace="default", name=name, uid="", spec=TargetSpec(manager="instant")))
        runner = tasks.create_task(Runner(store, connect, clock).run())
        await asyncio.sleep(0.3)
        watched = [f"t{n}-{number}" for n in range(TARGETS - 1) for number in range(each)]
        for number in range(each):
            for name in managers:
                job = Job("default", f"{name}-{number}", "", homes.spec(name))
                await store.create(job)
                accepted[job.name] = time.perf_counter()
            await asyncio.sleep(every)
        while not all(name in released for name in watched):
            await asyncio.sleep(0.02)
        runner.cancel()
    waits = sorted(released[name] - accepted[name] for name in watched)
    return waits[int(len(waits) * 0.99)]


def measure(each: int, every: float, rounds: int) -> Figure:
    """Return the row: medians of *rounds*, in turns."""
    calm, hanging = [], []
    with workspace() as folder:
        for turn in range(rounds):
            for hangs, waits in ((False, calm), (True, hanging)) if turn % 2 else ((True, hanging), (False, calm)):
                home = folder / f"home-{turn}-{hangs}"
                waits.append(asyncio.run(p99(home, each=each, every=every, hangs=hangs)))
    parts = {"p99 while one hangs, ms": median(hanging) * 1e3, "p99 of ten healthy ones, ms": median(calm) * 1e3}
    return Figure("bulkhead", (median(hanging) / median(calm),), parts)
