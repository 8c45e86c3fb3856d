"""
The port: what the core asks of a quantum service, each call one try.

Each room has one of the subjects: ``submitting``, ``observing``, ``finding``, ``output``, ``probing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NoReturn

from msgspec.structs import replace

from bascule.errors import Mistake
from bascule.managers.quantum.bringing import Porter
from bascule.managers.quantum.finding import Finder
from bascule.managers.quantum.home import Home
from bascule.managers.quantum.iam import IamTokens
from bascule.managers.quantum.observing import Observer
from bascule.managers.quantum.options import TargetOptions
from bascule.managers.quantum.output import Output
from bascule.managers.quantum.pacing import Turnstile
from bascule.managers.quantum.probing import probe
from bascule.managers.quantum.rest import Rest, refused, segment
from bascule.managers.quantum.service import Service
from bascule.managers.quantum.sessions import Sessions
from bascule.managers.quantum.submitting import Submitter
from bascule.model import Absent, Chunk, Found, Handle, Health, Job, Observation, Stray
from bascule.ports import Abilities, Clock, Order, Stream

MOST = Abilities(key="searched", output=True, walltime=False, poll_soon=1.0, poll_rest=20.0)
"""What can be done. The service's own limit is of computing time; the walltime is the core's to keep."""


class QuantumManager:
    """Jobs at one instance of a quantum service; *ours* is a folder for what must outlive the process."""

    def __init__(
        self, rest: Rest, tokens: IamTokens, options: TargetOptions, clock: Clock, *, home: Home, ours: Path
    ) -> None:
        self._rest = rest
        self._tokens = tokens
        self._options = options
        self._home = home
        service = Service(rest, clock)
        porter = Porter(service, home)
        self._sessions = Sessions(service, ours / "sessions", clock)
        self._finder = Finder(service, clock)
        self._observer = Observer(service, self._sessions, porter, clock)
        self._output = Output(service, home, porter, clock)
        turnstile = Turnstile(options.submits_per_minute, ours / "submits.json", clock)
        self._submitter = Submitter(service, self._sessions, self._finder, turnstile, options, clock)

    @property
    def abilities(self) -> Abilities:
        """What can be done there."""
        return replace(MOST, settles=self._options.settle_seconds)

    def check(self, job: Job) -> None:
        """Raise `Mistake` where the service cannot take *job*."""
        self._submitter.check(job)

    async def submit(self, order: Order) -> Handle:
        """Submit once."""
        return await self._submitter.submit(order)

    async def release(self, handle: Handle) -> None:
        """Do nothing: none is held."""

    async def find(self, key: str, since: datetime, *, may_have_run: bool = False) -> Found | Absent:
        """Look for *key* among the tags of all jobs, those that are over too."""
        return await self._finder.find(key, since)

    async def observe(self, handles: Sequence[Handle], cursor: str = "") -> Observation:
        """Ask for all *handles* by the cheapest means."""
        return await self._observer.observe(handles)

    async def cancel(self, handle: Handle, index: int | None = None) -> None:
        """End the job; one that is over is no error."""
        answer = await self._rest.change(
            "POST", f"/jobs/{segment(handle.id)}/cancel", what=f"the cancellation of job `{handle.id}`"
        )
        if answer.status >= 400 and answer.status != 409:
            raise refused(self._rest, f"would not cancel job `{handle.id}`", answer)

    async def signal(self, handle: Handle, name: str) -> NoReturn:
        """Say that there are no signals."""
        raise _cannot("send signals to jobs")

    async def hold(self, handle: Handle) -> NoReturn:
        """Say that nothing can be held."""
        raise _cannot("hold jobs")

    async def unhold(self, handle: Handle) -> NoReturn:
        """Say that nothing is held."""
        raise _cannot("hold jobs")

    async def update(self, handle: Handle, walltime: timedelta) -> NoReturn:
        """Say that the service's limit cannot be changed."""
        raise _cannot("change how long a job may run")

    async def sweep(self, installation: str) -> Sequence[Stray]:
        """List what bears a key of *installation* and is not over; close sessions that nobody uses."""
        strays = await self._finder.sweep(installation)
        await self._sessions.sweep()
        return strays

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int, index: int | None = None) -> Chunk:
        """Read a piece of the results, or of the log."""
        return await self._output.read(handle, stream, offset, limit)

    async def forget(self, handle: Handle) -> None:
        """Remove the job's folder, where it is ours."""
        await self._home.forget(handle)

    async def probe(self) -> Health:
        """Try every step."""
        return await probe(self._rest, self._options.api_version)

    async def aclose(self) -> None:
        """Close connections."""
        await self._rest.aclose()
        await self._tokens.aclose()


def _cannot(what: str) -> Mistake:
    return Mistake(f"a quantum service cannot {what}", hint="cancel the job, and submit another")
