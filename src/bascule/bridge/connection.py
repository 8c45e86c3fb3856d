"""The open bridge: a place where objects live, driven by this process while nobody else does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from bascule.bridge.admission import (
    Verb,
    check_change,
    differing_fields,
    placed_here,
    refuse_circle,
    submitted_from_here,
    target_of,
)
from bascule.bridge.job import BridgeJob
from bascule.bridge.places import Place, PlatformName, namespace_of, platform_from
from bascule.errors import Conflict, Error, Mistake
from bascule.model import Job, Ref, Target
from bascule.platforms.embedded.opening import open_store
from bascule.ports import Clock, Manager, Selector
from bascule.runner import Pace, Runner
from bascule.wiring import SystemClock, connector

TRY_TO_LEAD = 0.25


class Bridge:
    """What people and programs do with jobs and targets."""

    def __init__(self, store: Place, clock: Clock, *, pace: Pace, namespace: str = "default") -> None:
        self.store = store
        self.namespace = namespace
        self._clock = clock
        self._connect = connector(store.home, store, clock)
        self._managers: dict[tuple[Ref, str, str], Manager] = {}
        self._failure: BaseException | None = None
        self._pace = pace
        self.runner: Runner | None = None

    @property
    def drives(self) -> bool:
        """Tell whether this process keeps the jobs moving."""
        return self.runner is not None

    def job(self, name: str, namespace: str | None = None) -> BridgeJob:
        """Return the job *name*, which may or may not exist; of this bridge's namespace unless given."""
        return BridgeJob(
            Ref(namespace or self.namespace, name),
            front=self.store,
            clock=self._clock,
            manager_of=self.manager_of,
            checked=self._check_driver,
        )

    async def submit(self, job: Job, *, replace_other: bool = False) -> BridgeJob:
        """
        Accept *job* durably and let it be submitted.

        A job that runs on this machine and names no folder runs in the current one.
        A job of the same name with the same work is attached to; other work is a
        `Mistake`, or takes its place with *replace_other* (the old one is cancelled).
        """
        await self.check(job)
        job = await self._submitted(job)
        while True:
            old = await self.store.get(job.ref)
            if old is None:
                try:
                    await self.store.create(job)
                except Conflict:
                    continue
                return self.job(job.name, job.namespace)
            if not replace_other:
                differing = differing_fields(old.spec, job.spec)
                if not differing and old.deleted_at is None:
                    return self.job(job.name, job.namespace)
                what = f"differs in {', '.join(f'`{name}`' for name in differing)}" if differing else "is being deleted"
                raise Mistake(
                    f"there is a job `{job.ref}` already, and it {what}",
                    hint="choose another name with `-n NAME`, or put this one in its place with `--replace`",
                )
            await self.store.delete(job.ref)
            await self._until_gone(old)

    async def apply(self, job: Job) -> Verb:
        """Make *job* what it says, or change what may change."""
        while True:
            old = await self.store.get(job.ref)
            try:
                if old is None:
                    await self.check(job)
                    await self.store.create(await self._submitted(job))
                    return "created"
                if old.deleted_at is not None:
                    raise Mistake(f"job `{job.ref}` is being deleted", hint="wait until it is gone, then apply again")
                job = _where_it_was(job, old)
                wanted = replace(old, spec=job.spec, labels=job.labels, annotations=old.annotations | job.annotations)
                if wanted == old:
                    return "unchanged"
                check_change(old, job.spec, await self._manager_or_none(old))
                await self.check(job)
                await self.store.change(wanted)
            except Conflict:
                continue
            return "changed"

    async def apply_target(self, target: Target) -> Verb:
        """Make or change a target."""
        await self._connect(target, target.namespace)
        old = await self.store.target(target.ref)
        if old is not None and old.spec == target.spec and old.labels == target.labels:
            return "unchanged"
        await self.store.put_target(target)
        return "created" if old is None else "changed"

    async def check(self, job: Job) -> None:
        """Raise `Mistake` where *job* could not be accepted; nothing is stored."""
        target = await target_of(self.store, job)
        await self.store.admit(job, target)
        manager = await self.manager_of(target, job.namespace)
        manager.check(await self._placed(job))
        await refuse_circle(self.store, job)

    async def manager_of(self, target: Target, namespace: str) -> Manager:
        """Return a manager for looking and reading, apart from the driver's own."""
        key = (target.ref, namespace, target.version)
        if key not in self._managers:
            self._managers[key] = await self._connect(target, namespace)
        return self._managers[key]

    async def jobs(self, selector: Selector) -> Sequence[Job]:
        """Return the selected jobs, oldest first."""
        return [job async for job in self.store.list(selector)]

    async def drive(self) -> None:
        """Drive, as soon as nobody else does, until cancelled."""
        while not await self.store.lead():
            await self._clock.sleep(TRY_TO_LEAD)
        self.runner = Runner(self.store, self._connect, self._clock, pace=self._pace)
        try:
            await self.runner.run()
        finally:
            self.runner = None

    async def aclose(self) -> None:
        """Close what was opened for looking."""
        for manager in self._managers.values():
            await manager.aclose()

    def _check_driver(self) -> None:
        if self._failure is not None:
            raise self._failure

    def note_failure(self, failure: BaseException) -> None:
        """Let everybody who waits know that the driver has failed."""
        self._failure = failure

    async def _submitted(self, job: Job) -> Job:
        """Return *job* with what it needs from here: a folder, and the caller's surroundings."""
        manager = await self.manager_of(await target_of(self.store, job), job.namespace)
        return submitted_from_here(await self._placed(job), manager)

    async def _placed(self, job: Job) -> Job:
        """Return *job* with a folder of its own, where it needs one from here."""
        if job.spec.working_directory is not None or job.spec.adopt is not None:
            return job
        manager = await self.manager_of(await target_of(self.store, job), job.namespace)
        return placed_here(job) if manager.abilities.here else job

    async def _manager_or_none(self, job: Job) -> Manager | None:
        try:
            return await self.manager_of(await target_of(self.store, job), job.namespace)
        except Mistake:
            return None

    async def _until_gone(self, old: Job) -> None:
        while True:
            self._check_driver()
            now = await self.store.get(old.ref)
            if now is None or now.uid != old.uid:
                return
            await self._clock.sleep(0.05)


def _where_it_was(job: Job, old: Job) -> Job:
    """Return *job* with the folder that it has already, where it names none."""
    folder = job.spec.working_directory or old.spec.working_directory
    return replace(job, spec=replace(job.spec, working_directory=folder))


@asynccontextmanager
async def connect(
    home: str | os.PathLike[str] | None = None,
    *,
    drive: bool = True,
    clock: Clock | None = None,
    pace: Pace = Pace(),  # noqa: B008 - immutable
    platform: str | None = None,
    namespace: str | None = None,
) -> AsyncIterator[Bridge]:
    """
    Open the bridge at *home* (default: `$BASCULE_HOME`, else the XDG state folder), or to a cluster.

    *platform* is ``embedded`` or ``kubernetes`` (default: `$BASCULE_PLATFORM`, else where this
    runs), *namespace* where names are looked up (default: the kubeconfig's). With *drive*, this process keeps all
    jobs of the home moving while it is open and no other process does; a cluster's operator does that itself.
    """
    clock = clock or SystemClock()
    chosen = platform_from(platform)
    where = namespace_of(chosen, namespace)
    async with _opened(chosen, home, clock, where) as store:
        drive = drive and chosen == "embedded"
        bridge = Bridge(store, clock, pace=pace, namespace=where)
        try:
            async with asyncio.TaskGroup() as tasks:
                driver = tasks.create_task(_drive(bridge), name="driver") if drive else None
                try:
                    yield bridge
                finally:
                    if driver is not None:
                        driver.cancel()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None  # the group wraps what the caller's block raised
        finally:
            await bridge.aclose()


@asynccontextmanager
async def _opened(
    platform: PlatformName, home: str | os.PathLike[str] | None, clock: Clock, namespace: str
) -> AsyncIterator[Place]:
    if platform == "kubernetes":
        from bascule.bridge.cluster import cluster_place

        async with cluster_place(clock, namespace) as cluster:
            yield cluster
    else:
        async with open_store(Path(home) if home is not None else None, clock) as store:
            yield store


async def _drive(bridge: Bridge) -> None:
    try:
        await bridge.drive()
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        bridge.note_failure(first)
    except Error as failure:
        bridge.note_failure(failure)
