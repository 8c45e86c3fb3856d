"""
The store: both ports, `Platform` for the driver and `Front` for people, over one SQLite file.

Any process may open a home and write specs; only the one that leads saves statuses.
``opening`` is the way in; what is written is in ``job_works`` and ``target_works``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import TypeVar

from bascule.errors import Fenced
from bascule.model import Event, Job, Ref, Target
from bascule.platforms.embedded import job_works, target_works
from bascule.platforms.embedded.driving import Driver, DriverLock
from bascule.platforms.embedded.faults import translated
from bascule.platforms.embedded.home import Home
from bascule.platforms.embedded.reading import CHANGES, PAGE, Reader, condition_of
from bascule.platforms.embedded.rows import job_of, time_of
from bascule.platforms.embedded.schema import connect
from bascule.platforms.embedded.secret_files import read_secret
from bascule.platforms.embedded.settings import Settings
from bascule.platforms.embedded.witness import Notebook, Witness
from bascule.platforms.embedded.writing import GroupWriter, InlineWriter, Pen, Transaction, Writer
from bascule.ports import Change, Clock, Selector

T = TypeVar("T")

TRIES = 5
"""How often the lock is tried: whoever asks who drives holds it for an instant."""


class Store:
    """One process' view of a home."""

    def __init__(self, home: Home, clock: Clock, settings: Settings) -> None:
        self.home = home.path
        self._database = home.database
        self._home = home
        self._clock = clock
        self._settings = settings
        self._reader = self._new_reader()
        # Long lists have a connection of their own, as they are read by a thread.
        self._pages = self._new_reader()
        self._threads = ThreadPoolExecutor(1, "bascule-pages") if settings.threads else None
        self._writer = self._new_writer()
        self._lock = DriverLock(home.lock)
        self._leading = asyncio.Lock()
        self._epoch = 0
        self._notebook: Notebook | None = None
        self._wakes: set[asyncio.Event] = set()
        self._installation, _, _, distrusts_before = self._reader.meta()
        self._distrusts_before = time_of(distrusts_before)

    # Driving

    @property
    def installation(self) -> str:
        """Return this installation's short name, part of every key."""
        return self._installation

    @property
    def distrusts_before(self) -> datetime | None:
        """Return the time before which jobs may be older than the truth: the database is a copy from a backup."""
        return self._distrusts_before

    def driver(self) -> Driver | None:
        """Return who drives this home, this process included; None where nobody does."""
        return self._lock.holder()

    async def lead(self) -> bool:
        """Take the right to drive, without waiting; False where another process has it."""
        async with self._leading:
            return self._notebook is not None or await self._take_the_lead()

    def resign(self) -> None:
        """Give the right to drive back."""
        if self._notebook is not None:
            self._notebook.close()
            self._notebook = None
        self._lock.release()

    async def save(self, job: Job, events: Sequence[Event] = ()) -> Job:
        """Store *job*'s status durably if its version and our epoch still hold; return it with its new version."""
        return await self._writer.write(job_works.save(job, events, epoch=self._own_epoch()))

    async def remove(self, job: Job) -> None:
        """Let *job* go; raises as `save`."""
        await self._writer.write(job_works.remove(job, epoch=self._own_epoch()))

    async def save_target(self, target: Target) -> Target:
        """Store a target's status, as `save`."""
        return await self._writer.write(target_works.save(target, epoch=self._own_epoch()))

    async def secret(self, namespace: str, name: str, key: str) -> str:
        """Return one value of a secret; raise `Mistake` where it is not there. All namespaces share one folder."""
        return read_secret(self._home.secrets, name, key)

    def drives(self, job: Job, target: Target | None) -> bool:
        """Return True: whoever drives moves all jobs."""
        return True

    def hands_over(self, job: Job, target: Target | None) -> bool:
        """Return False: as above."""
        return False

    async def hand_over(self, job: Job) -> None:
        """Fail: nobody asks for it."""
        raise AssertionError

    async def admit(self, job: Job, target: Target) -> None:
        """Let everything in: what people write was checked before it was stored."""

    # What people do

    async def create(self, job: Job) -> Job:
        """Accept *job* durably, with a uid and version of its own; raise `Conflict` where the name is taken."""
        return await self._writer.write(job_works.create(job, uid=self._settings.fresh_id(), now=self._clock.now()))

    async def change(self, job: Job) -> Job:
        """Store *job*'s spec, labels and annotations if its version still holds; raise `Conflict` otherwise."""
        return await self._writer.write(job_works.change(job))

    async def delete(self, ref: Ref) -> Job | None:
        """Ask for a job's end; None where there is none."""
        return await self._writer.write(job_works.delete(ref, now=self._clock.now()))

    async def put_target(self, target: Target) -> Target:
        """Create or change a target's spec, labels and annotations."""
        return await self._writer.write(target_works.put(target, uid=self._settings.fresh_id(), now=self._clock.now()))

    async def delete_target(self, ref: Ref) -> bool:
        """Remove a target; False where there is none."""
        return await self._writer.write(target_works.delete(ref))

    # What both read

    async def get(self, ref: Ref) -> Job | None:
        """Return the job as it is stored now."""
        return self._reader.job(ref)

    async def bearer(self, key: str) -> Job | None:
        """Return the job of which *key* is or was the key of an attempt."""
        return self._reader.bearer(key, self._installation)

    async def list(self, selector: Selector) -> AsyncIterator[Job]:
        """Iterate over jobs, oldest first, in bounded memory."""
        condition, left, after = condition_of(selector), selector.limit, 0
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            page = await self._in_thread(partial(self._pages.page, condition, after, size))
            for row in page.rows:
                yield job_of(row)
            if page.is_last:
                return
            after = page.rows[-1][-1]
            left = None if left is None else left - len(page.rows)

    async def target(self, ref: Ref) -> Target | None:
        """Return the target as it is stored now."""
        return self._reader.target(ref)

    async def targets(self) -> AsyncIterator[Target]:
        """Iterate over all targets."""
        for target in self._reader.targets():
            yield target

    async def events(self, ref: Ref) -> Sequence[Event]:
        """Return what happened to a job, oldest first."""
        return self._reader.events(ref)

    def watch(self) -> AsyncIterator[Change]:
        """Tell what changed from now on, by whoever."""
        # The count is taken now, not when the first change is asked for.
        return self._changes(self._reader.meta()[2])

    async def aclose(self) -> None:
        """Finish what was asked for, stop driving, close."""
        try:
            await self._writer.aclose()
        finally:
            self.resign()
            self._reader.close()
            if self._threads is not None:
                self._threads.shutdown()
            self._pages.close()

    async def _take_the_lead(self) -> bool:
        for _ in range(TRIES):
            if self._lock.acquire():
                break
            await self._clock.sleep(0.002)
        else:
            return False
        try:
            self._epoch, seq = await self._writer.write(_new_epoch)
            with translated(self._database):
                self._notebook = Notebook(
                    self._home.witness, Witness(self._epoch, seq), durably=self._settings.is_durable
                )
        except BaseException:
            self._lock.release()
            raise
        return True

    async def _changes(self, since: int) -> AsyncIterator[Change]:
        wake = asyncio.Event()
        self._wakes.add(wake)
        seen = None
        try:
            while True:
                wake.clear()
                stamp = self._reader.stamp()
                if stamp == seen:
                    await self._nap(wake)
                    continue
                changes, since = self._reader.changes(since)
                if len(changes) < CHANGES:
                    seen = stamp  # what was committed since the stamp was read moves it again
                for change in changes:
                    yield change
        finally:
            self._wakes.discard(wake)

    async def _nap(self, wake: asyncio.Event) -> None:
        """Wait for a write of our own, but no longer than others' may stay unseen."""
        async with asyncio.TaskGroup() as tasks:
            nap = tasks.create_task(self._clock.sleep(self._settings.watch_every), name="look for others' writes")
            nap.add_done_callback(lambda _: wake.set())
            await wake.wait()
            nap.cancel()

    def _told(self, seq: int) -> None:
        """Our own writes have come to *seq*."""
        if self._notebook is not None:
            self._notebook.note(seq)
        for wake in self._wakes:
            wake.set()

    def _own_epoch(self) -> int:
        if self._notebook is None:
            raise Fenced(f"this process does not drive home `{self.home}`", hint="take the lead first")
        return self._epoch

    async def _in_thread(self, read: Callable[[], T]) -> T:
        if self._threads is None:
            return read()
        return await asyncio.get_running_loop().run_in_executor(self._threads, read)

    def _new_reader(self) -> Reader:
        return Reader(
            connect(
                self._database,
                synchronous=self._settings.synchronous,
                patience=self._settings.patience,
                of_one_thread=False,
            ),
            self._database,
        )

    def _new_writer(self) -> Writer:
        pen = Pen(
            partial(
                connect,
                self._database,
                synchronous=self._settings.synchronous,
                patience=self._settings.patience,
                of_one_thread=False,
            )
        )
        if self._settings.threads:
            return GroupWriter(pen, database=self._database, told=self._told)
        return InlineWriter(pen, database=self._database, told=self._told)


def _new_epoch(transaction: Transaction) -> tuple[int, int]:
    """Fence all drivers before us; return our epoch, and the count of changes."""
    transaction.epoch += 1
    transaction.execute("UPDATE meta SET epoch = ?", (transaction.epoch,))
    return transaction.epoch, transaction.seq
