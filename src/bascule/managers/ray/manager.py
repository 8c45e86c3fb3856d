"""
The port: what the core asks of Ray, each call one try.

The client chooses the id: it is the key, and the head takes it once. A head that is started anew
without a store of its own forgets its jobs, and would take it once more; so each run has a
name (`instance`), and an absence says in which run it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from bascule.errors import Mistake, Refused, Uncertain
from bascule.managers.ray.description import body_of, check_job, needs_selector, selects
from bascule.managers.ray.head import Exists, Head, is_id
from bascule.managers.ray.observing import Observer
from bascule.managers.ray.options import TargetOptions
from bascule.managers.ray.output import Output
from bascule.managers.ray.package import package_of
from bascule.managers.ray.probing import probe
from bascule.managers.ray.states import report_of
from bascule.managers.ray.wire import Details
from bascule.model import (
    Absent,
    CannotTell,
    Chunk,
    Found,
    Handle,
    Health,
    Job,
    Match,
    Observation,
    Report,
    Stray,
    belongs_to,
)
from bascule.ports import Abilities, Clock, Order, Stream

ABILITIES = Abilities(
    key="chosen",
    volatile=True,
    update_walltime=True,
    output=True,
    files=True,
    walltime=False,
    settles=10.0,
    poll_soon=1.0,
    poll_rest=15.0,
)
"""The walltime is the core's to keep, so that it can be changed at any time."""


class RayManager:
    """One sign-in at one head."""

    def __init__(self, head: Head, options: TargetOptions, clock: Clock) -> None:
        self._head = head
        self._options = options
        self._clock = clock
        self._observer = Observer(head, clock)
        self._output = Output(head, clock)
        self.abilities = replace(ABILITIES, settles=options.settle_seconds)

    def check(self, job: Job) -> None:
        """Raise `Mistake` where Ray cannot take *job*."""
        check_job(job, self._options)

    async def submit(self, order: Order) -> Handle:
        """Submit once under the key; what bears it already is the answer, if it is ours."""
        if order.held:
            raise Mistake(f"Ray cannot hold job `{order.job.name}`", hint="leave `hold` out")
        self.check(order.job)
        session = await self._head.session()
        package = package_of(order.job, order.secret_env)
        body = body_of(order.job, self._options, key=order.key, package=package, has_secrets=bool(order.secret_env))
        if needs_selector(body) and not selects(session.version):
            raise Refused(f"{self._head.where} is of version {session.version}, which knows no `labelSelector`")
        if package is not None:
            await self._head.bring(package.name, package.data)
        given = await self._head.submit(order.key, body)
        if isinstance(given, Exists):
            return await self._known(order.key)
        if given != order.key:
            raise Uncertain(f"{self._head.where} took job `{order.key}` and calls it `{given}`")
        return Handle(id=order.key, key=order.key, instance=(await self._session_name()))

    async def find(self, key: str, since: datetime, *, may_have_run: bool = False) -> Found | Absent | CannotTell:
        """Ask for the job of *key*: its id."""
        as_of = self._clock.now()
        details = await self._head.job(key)
        instance = (await self._head.session(fresh=True)).name  # after the look: an absence is of no earlier run
        answer = self._observer.answer(details, Handle(key, key), as_of, instance)
        if isinstance(answer, Report):
            return Found((Match(Handle(key, key, answer.submitted_at, instance), answer),))
        return answer

    async def observe(self, handles: Sequence[Handle], cursor: str = "") -> Observation:
        """Ask for all *handles* by the cheapest means."""
        return await self._observer.observe(handles)

    async def cancel(self, handle: Handle, index: int | None = None) -> None:
        """Ask for the end; where Ray keeps a waiting job that it says is stopped, `observe` tells."""
        details = await self._ours(handle)
        if details is None or details.end_time:
            return
        if await self._head.stop(handle.id):
            self._observer.note_stop(handle.id)

    async def update(self, handle: Handle, walltime: timedelta) -> None:
        """Do nothing: the core keeps the walltime."""

    async def sweep(self, installation: str) -> Sequence[Stray]:
        """List what bears a key of *installation*."""
        listed = await self._head.jobs()
        instance = await self._session_name()
        ours = [
            (id_, details)
            for id_, details in listed.jobs.items()
            if belongs_to(id_, installation) and details.metadata and details.belongs_to(id_)
        ]
        return [
            Stray(id_, _handle_of(details, id_, instance), held=False, over=report_of(details).is_over)
            for id_, details in ours
        ]

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int, index: int | None = None) -> Chunk:
        """Read a piece of the log."""
        return await self._output.read(handle, stream, offset, limit)

    async def forget(self, handle: Handle) -> None:
        """Remove the job's record from the head's table; one that was adopted is not ours to remove."""
        if handle.key and is_id(handle.id) and await self._ours(handle) is not None:
            await self._head.delete(handle.id)

    async def probe(self) -> Health:
        """Try every step."""
        return await probe(self._head)

    async def aclose(self) -> None:
        """Close connections."""
        await self._output.aclose()
        await self._head.aclose()

    async def release(self, handle: Handle) -> None:
        """Say that there are no holds here."""
        raise Mistake(f"{self._head.where} holds no jobs")

    async def hold(self, handle: Handle) -> None:
        """Say that there are no holds here."""
        raise Mistake(f"{self._head.where} cannot hold a job")

    async def unhold(self, handle: Handle) -> None:
        """Say that there are no holds here."""
        raise Mistake(f"{self._head.where} holds no jobs")

    async def signal(self, handle: Handle, name: str) -> None:
        """Say that there are no signals here."""
        raise Mistake(f"{self._head.where} sends no signals to jobs")

    async def _known(self, key: str) -> Handle:
        """Return the handle of a job that the head has already; raise `Refused` where it is not ours."""
        details = await self._head.job(key)
        if details is None:
            raise Uncertain(f"{self._head.where} has job `{key}` already, and does not show it")
        if not details.belongs_to(key):
            raise Refused(f"{self._head.where} has a job `{key}` that is not ours")
        return _handle_of(details, key, await self._session_name())

    async def _ours(self, handle: Handle) -> Details | None:
        """Return the job, None where there is none; raise `Refused` where the id is a stranger's."""
        details = await self._head.job(handle.id)
        if details is not None and not details.belongs_to(handle.key):
            raise Refused(f"job `{handle.id}` at {self._head.where} is not ours")
        return details

    async def _session_name(self) -> str:
        return (await self._head.session()).name


def _handle_of(details: Details, key: str, instance: str) -> Handle:
    return Handle(id=key, key=key, submitted_at=report_of(details).submitted_at, instance=instance)
