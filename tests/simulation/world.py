"""
One run of a story: the production core, store and monitors, over a fake outside world.

Nothing in here decides: it starts processes, lets the story's deeds happen (`deeds`), and
waits until everything is over, or until it should have been.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, closing, contextmanager, suppress
from contextvars import Context
from pathlib import Path
from random import Random
from typing import Any

import structlog

from bascule.errors import Error, Fenced, StoreFailed
from bascule.model import Duration, Event, Job, Limits, Target, TargetSpec
from bascule.platforms.embedded import open_store
from bascule.platforms.embedded.settings import Settings
from bascule.platforms.embedded.store import Store
from bascule.ports import Selector
from bascule.runner import Pace, Runner
from tests.fakes.manager import FakeManager
from tests.fakes.outside import Outside
from tests.simulation.deeds import Deeds
from tests.simulation.disk import Disk
from tests.simulation.notices import confuse
from tests.simulation.processes import Endless, Process, ProcessLoop
from tests.simulation.record import Record, Saved
from tests.simulation.story import Story
from tests.simulation.weather import SeededWeather
from tests.virtual import Deadlock, FakeClock

PACE = Pace(workers=4, per_target=4, resync=900.0, first_sweep=20.0, sweep=60.0)
HORIZON = 3600.0
SETTLED = 140.0
"""Seconds that pass after all is over, in which nothing may happen any more but sweeping."""
MOST_STEPS = 60_000
"""Callbacks in one run; a long one has a tenth."""
FOR_EVER = 1e9
NO_MOUNTS = Path("/dev/null")


def tell(story: Story, folder: Path) -> Record:
    """Let *story* happen in *folder*, which must hold a prepared home (`homes`); return what came of it."""
    loop = ProcessLoop(most_steps=MOST_STEPS)
    asyncio.set_event_loop(loop)
    world = World(story, folder, loop)
    structlog.configure(
        processors=[world.overhear],
        wrapper_class=structlog.make_filtering_bound_logger(40),
        cache_logger_on_first_use=False,
    )
    try:
        loop.run_until_complete(world.happen())
    except (Deadlock, Endless) as end:
        world.record.wrong.append(str(end))
    finally:
        world.is_over = True
        loop.bury()
        asyncio.set_event_loop(None)
        loop.close()
    world.record.steps = loop.steps
    return world.record


class World:
    """The processes, the manager, and the people of one run."""

    def __init__(self, story: Story, folder: Path, loop: ProcessLoop) -> None:
        self.story = story
        self.folder = folder
        self.loop = loop
        self.luck = Random(story.seed + 1)
        self.clock = FakeClock()
        self.disk = Disk()
        self.outside = Outside(self.clock, history=story.abilities.history)
        self.outside.courses = story.courses
        self.outside.purge_after = story.purge_after
        self.outside.keeps_for = story.purge_after or FOR_EVER
        self.outside.completes_in = story.completes_in
        self.outside.appears_after = story.appears_after
        self.record = Record(story, self.outside._ledger)
        self.leader: Process | None = None
        self.processes: list[Process] = []
        self.backup = b""
        self.is_over = False
        self.front: Store | None = None
        self._way_in = AsyncExitStack()
        self._stores: dict[Process, Store] = {}
        self._requests: list[Counter[str]] = []

    async def happen(self) -> None:
        """Let it all happen."""
        deeds = Deeds(self)
        await self.let_people_in()
        if self.story.active_jobs is not None:
            target = _target(self.story.active_jobs)
            await deeds.insist(lambda front: front.put_target(target))
        self.start_driver()
        for at, job in self.story.jobs:
            self.later(at, deeds.create, job)
        for deed in self.story.deeds:
            self.later(deed.at, deeds.do, deed)
        await self._until_over()
        await self._look_at_the_end()

    def later(self, seconds: float, what: Callable[..., Coroutine[Any, Any, None]], *of: object) -> None:
        """Let the world, and no process in it, do something."""

        def begin() -> None:
            self.loop.create_task(what(*of), name=what.__name__, context=Context())

        self.loop.call_later(seconds, begin, context=Context())

    # Processes

    def start_driver(self) -> None:
        """Start a process that drives as soon as nobody else does."""
        self.record.drivers += 1
        process = Process(f"driver-{self.record.drivers}")
        self.processes.append(process)
        process.start(self.loop, self._live(process))

    def kill(self, process: Process) -> None:
        """Let it die where it stands; the kernel gives its lock back."""
        process.kill()
        self.unlock(process)
        if process in self.processes:
            self.processes.remove(process)

    def unlock(self, process: Process) -> None:
        """Take the right to drive from *process*, which does not know."""
        store = self._stores.get(process)
        if store is not None:
            store._lock.release()
        if process is self.leader:
            self.leader = None

    def poke(self) -> None:
        """Somebody wrote: let every driver see it."""
        for store in self._stores.values():
            for wake in store._wakes:
                wake.set()

    async def _live(self, process: Process) -> None:
        """Live as `bascule serve` does; what ended by an error is started again by the machine."""
        try:
            await self._drive(process)
        except* Error as end:
            self._note(f"{process.name} ended: {end.exceptions[0]!r}")
            if not end.subgroup(Fenced):
                self.later(5.0, self._start_again)
        except* Exception as end:  # noqa: BLE001 - a bug in the code under test
            self.record.wrong.append(f"{process.name} died: {end.exceptions[0]!r}")
        if process is self.leader:
            self.leader = None

    async def _start_again(self) -> None:
        self.start_driver()

    async def _drive(self, process: Process) -> None:
        luck = Random(self.luck.random())
        weather = SeededWeather(self.story, luck, self.loop.time)
        manager = FakeManager(self.outside, self.story.abilities, clock=self.clock, weather=weather)
        self._requests.append(manager.requests)

        async def connect(target: Target, namespace: str) -> FakeManager:
            return manager

        async with open_store(self.folder, self.clock, settings=_settings(self.luck)) as store:
            self.disk.put_under(store, luck)
            if self.story.confused_notices:
                confuse(store, luck)
            self._observe(store, process)
            while not await store.lead():
                await self.clock.sleep(2.0)
            self._stores[process] = store
            self.leader = process
            self.record.epochs.append((store._epoch, store._reader.meta()[2]))
            await Runner(store, connect, self.clock, pace=PACE, luck=luck).run()

    def _observe(self, store: Store, process: Process) -> None:
        """Watch what is saved: a final phase may be saved once, and never be left."""
        save, remove = store.save, store.remove

        async def saved(job: Job, events: Sequence[Event] = ()) -> Job:
            try:
                result = await save(job, events)
            except StoreFailed:
                stored = await store.get(job.ref)
                is_ours = self.leader is process and stored is not None and stored.status == job.status
                if is_ours and stored is not None and stored.version != job.version:
                    self._judge_save(process, store._epoch, stored)  # said to have failed, and yet written
                raise
            self._judge_save(process, store._epoch, result)
            return result

        async def removed(job: Job) -> None:
            try:
                await remove(job)
            except StoreFailed:
                if await store.get(job.ref) is not None:
                    raise
            self.record.saves.append(Saved(self.loop.time(), process.name, store._epoch, job, removed=True))

        store.save, store.remove = saved, removed  # type: ignore[method-assign]

    def _judge_save(self, process: Process, own_epoch: int, job: Job) -> None:
        """Look at what can only be seen while it happens."""
        record, version, phase = self.record, int(job.version), job.status.phase
        record.saves.append(Saved(self.loop.time(), process.name, own_epoch, job))
        final = record.finals.get(job.uid)
        if final is not None and version > final[0] and phase is not final[1]:
            record.wrong.append(f"{job.name} left {final[1]} for {phase}")
        if phase.is_final:
            record.finals[job.uid] = (version, phase)
        if any(epoch > own_epoch and since < version for epoch, since in record.epochs):
            record.wrong.append(f"{process.name} saved {job.name} after another had taken over")

    # The home

    async def let_people_in(self) -> None:
        """Open the home for people."""
        self.front = await self._way_in.enter_async_context(
            open_store(self.folder, self.clock, settings=_settings(self.luck))
        )

    async def show_people_out(self) -> None:
        """Close the home for people."""
        self.front = None
        await self._way_in.aclose()

    # The end

    async def _until_over(self) -> None:
        await asyncio.sleep(self.story.ends_at + 6)
        while self.loop.time() < HORIZON:
            if self.front is not None and not [job async for job in self.front.list(Selector(live=True))]:
                break
            await asyncio.sleep(10)
        await asyncio.sleep(SETTLED)

    async def _look_at_the_end(self) -> None:
        if self.front is not None:
            async for job in self.front.list(Selector()):
                self.record.jobs[job.name] = job
        self.outside.ledger  # noqa: B018 - lets everything happen that was due
        self.record.instances = self.outside.instance
        self.record.left = list(self.outside.live.values())
        self.record.seconds = self.loop.time()
        for process in self.processes:
            process.kill()
        total: Counter[str] = sum(self._requests, Counter())
        self.record.requests = dict(total)
        await self.show_people_out()

    def _note(self, what: str) -> None:
        self.record.deeds.append((self.loop.time(), what))

    def overhear(self, logger: object, level: str, event: dict[str, Any]) -> dict[str, Any]:
        """Take what the code under test itself calls an error for one; the last words of the dead count for nothing."""
        if self.is_over:
            raise structlog.DropEvent
        self.record.wrong.append(f"{event['event']} {event.get('key', '')}: {_raised()}")
        raise structlog.DropEvent


def _raised() -> str:
    fault = sys.exc_info()[1]
    if fault is None:
        return ""
    place = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{fault!r} at {Path(place.filename).name}:{place.lineno}"


def _target(active_jobs: int | None) -> Target:
    limits = Limits(poll_interval=Duration(seconds=10), active_jobs=active_jobs)
    return Target("default", "outside", "", TargetSpec(manager="fake", limits=limits))


def _settings(luck: Random) -> Settings:
    return Settings(
        threads=False,
        synchronous="OFF",
        watch_every=30.0,  # what people write is told by `World.poke`
        fresh_id=lambda: f"{luck.getrandbits(128):032x}",
        mounts=NO_MOUNTS,
    )


def _prepare(folder: Path) -> None:
    """Make the home that every run starts from."""

    async def fill() -> None:
        async with open_store(folder, FakeClock(), settings=_settings(Random(0))) as store:
            await store.put_target(_target(None))

    with asyncio.Runner(loop_factory=ProcessLoop) as runner:
        runner.run(fill())
    with closing(sqlite3.connect(folder / "bascule.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def homes(root: Path) -> Iterator[Callable[[], Path]]:
    """Give a function that makes a fresh copy of a prepared home beneath *root*, and clear it all away."""
    template = root / "template"
    _prepare(template)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, root, ignore_errors=True)

        def fresh() -> Path:
            home = root / "home"
            with suppress(FileNotFoundError):
                shutil.rmtree(home)
            shutil.copytree(template, home)
            return home

        yield fresh
