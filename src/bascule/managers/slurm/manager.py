"""
The port: what the core asks of Slurm, each call one try.

Each room has one of the subjects: ``submitting``, ``changing``, ``observing``,
``finding``, ``output``, ``probing``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from bascule.managers.slurm.changing import Changer
from bascule.managers.slurm.cluster import Cluster
from bascule.managers.slurm.description import marks_in
from bascule.managers.slurm.discovery import Discovery
from bascule.managers.slurm.finding import Finder
from bascule.managers.slurm.folder import remove
from bascule.managers.slurm.history import History
from bascule.managers.slurm.observing import Observer
from bascule.managers.slurm.options import TargetOptions
from bascule.managers.slurm.output import Output
from bascule.managers.slurm.probing import probe
from bascule.managers.slurm.rest import Rest
from bascule.managers.slurm.rewound import Rewinds
from bascule.managers.slurm.submitting import Submitter
from bascule.model import Absent, CannotTell, Chunk, Found, Handle, Health, Job, Observation, Stray
from bascule.ports import Abilities, Clock, Order, Stream

MOST = Abilities(
    key="searched",
    holds=True,
    history=True,
    arrays=True,
    hold=True,
    signal=True,
    update_walltime=True,
    output=True,
    warns=True,
    poll_soon=2.0,
    poll_rest=30.0,
)
"""What can be done at a cluster that has everything."""


class SlurmManager:
    """One user's jobs at one cluster."""

    def __init__(self, rest: Rest, options: TargetOptions, clock: Clock, *, root: str | None, held: bool) -> None:
        self._rest = rest
        self._options = options
        self._root = root
        self._discovery = Discovery(rest)
        self._cluster = Cluster(rest, self._discovery, clock)
        self._history = History(self._cluster, root, min_job_age=options.min_job_age)
        rewinds = Rewinds(self._cluster, self._history, clock, root=root, settles=options.settle_seconds)
        self._observer = Observer(self._cluster, self._history, rewinds, clock)
        self._finder = Finder(self._cluster, clock, root=root, held=held, min_job_age=options.min_job_age)
        self._output = Output(self._cluster, root)
        self._changer = Changer(rest, self._discovery, self._cluster, self._observer, rewinds, clock)
        self._submitter = Submitter(rest, self._discovery, self._changer, clock, options, root)

    @property
    def abilities(self) -> Abilities:
        """What can be done there: history and warnings are known once it was asked."""
        known = self._discovery.known
        return replace(
            MOST,
            history=known.accounting if known else False,
            output=self._root is not None,
            warns=known.shape.warns if known else False,
            recalls=self._root is not None or known is None or known.accounting,
            settles=self._options.settle_seconds,
        )

    def check(self, job: Job) -> None:
        """Raise `Mistake` where Slurm cannot take *job*."""
        self._submitter.check(job)

    async def submit(self, order: Order) -> Handle:
        """Submit once, held where the order says so."""
        return await self._submitter.submit(order)

    async def release(self, handle: Handle) -> None:
        """End our own hold."""
        await self._changer.set_hold(handle, hold=False)

    async def hold(self, handle: Handle) -> None:
        """Keep a waiting job from starting."""
        await self._changer.set_hold(handle, hold=True)

    async def unhold(self, handle: Handle) -> None:
        """End the user's hold."""
        await self._changer.set_hold(handle, hold=False)

    async def find(self, key: str, since: datetime, *, may_have_run: bool = False) -> Found | Absent | CannotTell:
        """Look for *key* in the live list and the history."""
        return await self._finder.find(key, since, may_have_run=may_have_run)

    async def observe(self, handles: Sequence[Handle], cursor: str = "") -> Observation:
        """Ask for all *handles* by the cheapest means."""
        return await self._observer.observe(handles, cursor)

    async def cancel(self, handle: Handle, index: int | None = None) -> None:
        """End the job, or one task; one that is over is no error."""
        await self._changer.cancel(handle, index)

    async def signal(self, handle: Handle, name: str) -> None:
        """Send a signal to all of the job."""
        await self._changer.signal(handle, name)

    async def update(self, handle: Handle, walltime: timedelta) -> None:
        """Change the walltime."""
        await self._changer.update(handle, walltime)

    async def sweep(self, installation: str) -> Sequence[Stray]:
        """List what bears a key of *installation*."""
        return await self._finder.sweep(installation)

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int, index: int | None = None) -> Chunk:
        """Read a piece of an output file through the shared folder."""
        return await self._output.read(handle, stream, offset, limit, index)

    async def forget(self, handle: Handle) -> None:
        """Remove the job's marker; its folder and output are the user's."""
        if self._root is not None and handle.key and "/" not in handle.key and handle.key not in {".", ".."}:
            await asyncio.to_thread(remove, self._root, marks_in(self._root, handle.key))

    async def probe(self) -> Health:
        """Try every step."""
        return await probe(self._rest, self._discovery, self._root)

    async def aclose(self) -> None:
        """Close connections."""
        await self._rest.aclose()
