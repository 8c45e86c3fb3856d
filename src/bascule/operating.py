"""
Operating: the core over the platform Kubernetes, as the cluster's operator.

One process leads. It moves the jobs of all targets that no pod mirrors, and gives the others
controller pods, whose agents move them. The others wait for its Lease. Whoever loses it ends, and is started anew by whoever started it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from bascule.clients.addresses import Borders
from bascule.errors import Unavailable, Uncertain
from bascule.journal import Logger
from bascule.platforms.kubernetes import Store
from bascule.platforms.kubernetes.mirrors import Mirrors
from bascule.platforms.kubernetes.pod_access import Pods
from bascule.platforms.kubernetes.pods import PodTemplate
from bascule.ports import Clock, Selector
from bascule.runner import Pace, Runner
from bascule.wiring import connector

TRY_TO_LEAD = 0.5
log = Logger(__name__)


class Operator:
    """Drives the jobs of *store* while this process leads; *folder* is for what managers keep besides."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        folder: Path,
        *,
        borders: Borders,
        template: PodTemplate | None = None,
        pace: Pace = Pace(),  # noqa: B008 - immutable
    ) -> None:
        self.store = store
        self.runner: Runner | None = None
        self._clock = clock
        self._folder = folder
        self._borders = borders
        self._template = template
        self._pace = pace

    async def run(self, leads: Callable[[], None] = lambda: None) -> None:
        """Wait for the lead, call *leads*, and drive until cancelled; raises `Fenced` once another process leads."""
        while not await self._lead():
            await self._clock.sleep(TRY_TO_LEAD)
        leads()
        connect = connector(self._folder, self.store, self._clock, self._borders)
        self.runner = Runner(self.store, connect, self._clock, pace=self._pace)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.runner.run(), name="drive")
                if self._template is not None:
                    pods = self.store.pods = Pods(self.store.client, self._template, self.store.installation)
                    tasks.create_task(Mirrors(self.store, pods, self._clock).run(), name="mirror")
        finally:
            self.runner = None

    async def _lead(self) -> bool:
        try:
            return await self.store.lead()
        except (Unavailable, Uncertain) as trouble:
            # One that waits is there when the API server comes back; one that had ended would be started late.
            log.warning("operator.cannot_lead", error=trouble.message)
            return False

    async def counts(self) -> Counter[str]:
        """Count the jobs that are not over, by phase."""
        counted: Counter[str] = Counter()
        async with aclosing(self.store.list(Selector(live=True))) as jobs:  # type: ignore[type-var]
            async for job in jobs:
                counted[str(job.status.phase)] += 1
        return counted
