"""
Attending: the core over one job alone, as its controller pod's agent.

It becomes the job's driver, moves it to its end, and hands over what the job writes while
it writes it. Killed at any moment it is followed by another, which takes the next number
and goes on; what was left over of an earlier one can write nothing from then on.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from bascule.clients.addresses import Borders
from bascule.connections import Connect
from bascule.forwarding import Output
from bascule.model import Ref
from bascule.platforms.kubernetes import Store
from bascule.platforms.kubernetes.single import SingleJob
from bascule.platforms.kubernetes.wire import StoredJob
from bascule.ports import Clock
from bascule.runner import Pace, Runner
from bascule.wiring import connector

PACE = Pace(workers=4, per_target=4, resync=600.0, first_sweep=60.0, sweep=3600.0)
"""One job needs few hands. It looks for strays of its own: of a former agent that was frozen while it submitted."""
LINGERS = 5.0
"""Seconds after TERM in which a person's wish to cancel is waited for: their deleting the pod is one."""


class Agent:
    """Moves the job *ref* of *store*, whose uid is *uid*; *folder* is for what managers keep besides."""

    def __init__(self, store: Store, ref: Ref, uid: str, *, clock: Clock, folder: Path, borders: Borders) -> None:
        self.view = SingleJob(store, ref, uid, clock)
        self._clock = clock
        self._connect: Connect = connector(folder, self.view, clock, borders)

    @property
    def job(self) -> StoredJob | None:
        """The job as it is known here; None where it is gone."""
        return self.view.latest

    async def run(self, output: Output) -> None:
        """Move the job until it is over and all it wrote is handed over; raises `Fenced` where another does."""
        if await self.view.take() is None:
            await output.follow(self.view, self._connect)
            return
        async with asyncio.TaskGroup() as tasks:
            runner = Runner(self.view, self._connect, self._clock, pace=PACE)
            driver = tasks.create_task(runner.run(), name="drive")
            told = tasks.create_task(output.follow(self.view, self._connect), name="output")
            await self.view.is_done.wait()
            driver.cancel()
            await told

    async def wants_to_stay(self) -> bool:
        """Tell, soon after TERM, whether there is still something to do for this process: a cancellation."""
        waited = 0.0
        while waited < LINGERS:
            if self.job is None or self.view.is_done.is_set():
                return True
            if self.job.spec.cancel or self.job.deleted_at is not None:
                return True
            await self._clock.sleep(0.1)
            waited += 0.1
        return False
