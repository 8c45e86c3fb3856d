"""
The port: what the core asks of LSF, each call one try.

Each room has one of the subjects: ``submitting``, ``changing``, ``observing``,
``finding``, ``output``, ``probing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from bascule.managers.lsf.center import Center
from bascule.managers.lsf.changing import Changer
from bascule.managers.lsf.finding import Finder
from bascule.managers.lsf.observing import Observer
from bascule.managers.lsf.options import TargetOptions
from bascule.managers.lsf.output import Output
from bascule.managers.lsf.probing import probe
from bascule.managers.lsf.reporting import Reporter
from bascule.managers.lsf.rest import Rest
from bascule.managers.lsf.submitting import Submitter
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
    files=True,
    poll_soon=2.0,
    poll_rest=30.0,
)
"""What can be done with Application Center from 9.1.5 on."""


class LsfManager:
    """One user's jobs at one Application Center."""

    def __init__(self, rest: Rest, options: TargetOptions, clock: Clock, *, held: bool) -> None:
        self._rest = rest
        self._options = options
        self._center = Center(rest)
        self._reporter = Reporter(self._center)
        self._observer = Observer(self._center, self._reporter, clock)
        self._finder = Finder(self._center, self._reporter, clock, held=held, clean_period=options.clean_period)
        self._changer = Changer(self._center, self._reporter, self._observer)
        self._submitter = Submitter(self._center, self._changer, options)
        self._output = Output(self._center)

    @property
    def abilities(self) -> Abilities:
        """What can be done there; the interface before 9.1.5 has no history, which is known once it was asked."""
        return replace(MOST, history=not self._center.known_old, settles=self._options.settle_seconds)

    def check(self, job: Job) -> None:
        """Raise `Mistake` where LSF cannot take *job*."""
        self._submitter.check(job)

    async def submit(self, order: Order) -> Handle:
        """Submit once, held where the order says so."""
        return await self._submitter.submit(order)

    async def release(self, handle: Handle) -> None:
        """End our own hold."""
        await self._changer.release(handle)

    async def hold(self, handle: Handle) -> None:
        """Keep a waiting job from starting."""
        await self._changer.hold(handle)

    async def unhold(self, handle: Handle) -> None:
        """End the user's hold."""
        await self._changer.release(handle)

    async def find(self, key: str, since: datetime, *, may_have_run: bool = False) -> Found | Absent | CannotTell:
        """Look for *key* in the live list and the history."""
        return await self._finder.find(key, since, may_have_run=may_have_run)

    async def observe(self, handles: Sequence[Handle], cursor: str = "") -> Observation:
        """Ask for all *handles* in brief, and read whole what moved."""
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
        """Read a piece of an output file."""
        return await self._output.read(handle, stream, offset, limit, index)

    async def forget(self, handle: Handle) -> None:
        """Leave the job's folder alone: it is Application Center's, which has no call to remove files by."""

    async def probe(self) -> Health:
        """Try every step."""
        return await probe(self._center)

    async def aclose(self) -> None:
        """Sign out and close connections."""
        await self._rest.aclose()
