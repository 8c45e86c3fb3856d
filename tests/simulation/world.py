"""
One run of a story: the production core, store and monitors, over a fake outside world.

Nothing in here decides: it starts processes, lets the story's deeds happen, and waits
until everything is over, or until it should have been.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import structlog

from bascule.bridge.admission import change
from bascule.errors import Error
from bascule.model import Duration, Job, Limits, Phase, Ref, Target, TargetSpec
from bascule.platforms.embedded import open_store
from bascule.platforms.embedded.settings import Settings
from bascule.platforms.embedded.store import Store
from bascule.ports import Selector
from bascule.runner import Pace, Runner
from tests.fakes.course import OutsideJob
from tests.fakes.ledger import Ledger
from tests.fakes.manager import FakeManager
from tests.fakes.outside import Outside
from tests.simulation.processes import Process, ProcessLoop
from tests.simulation.story import Deed, SeededWeather, Story
from tests.virtual import FakeClock

PACE = Pace(workers=4, per_target=4, resync=900.0, first_sweep=20.0, sweep=60.0)
HORIZON = 4 * 3600.0
SETTLED = 200.0
"""Seconds that pass after all is over, in which nothing may happen any more but sweeping."""


@dataclass
class Record:
    """What the judge is given."""

    story: Story
    ledger: Ledger
    living: list[OutsideJob] = field(default_factory=list)
    jobs: dict[str, Job] = field(default_factory=dict)
    finals: dict[str, tuple[int, Phase]] = field(default_factory=dict)
    cancelled_at: dict[str, float] = field(default_factory=dict)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    removed: dict[str, float] = field(default_factory=dict)
    crashes: list[str] = field(default_factory=list)
    polls: int = 0
    instances: int = 1
    seconds: float = 0.0
    steps: int = 0

    @property
    def trace(self) -> str:
        """Return a digest of everything that happened: the same seed gives the same."""
        lines = [f"{one.at:.6f} {one.what} {one.id} {one.key} {one.note}" for one in self.ledger]
        lines += [f"{name} {job.status.phase} {job.status.attempt}" for name, job in sorted(self.jobs.items())]
        return sha256("\n".join(lines).encode()).hexdigest()[:16]


def tell(story: Story, folder: Path) -> Record:
    """Let *story* happen in *folder*, which must hold a prepared home (`prepare`); return what came of it."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50), cache_logger_on_first_use=False)
    loop = ProcessLoop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(_World(story, folder, loop).happen())
    finally:
        loop.bury()
        asyncio.set_event_loop(None)
        loop.close()


def prepare(folder: Path) -> None:
    """Make the home that every run starts from."""

    async def fill() -> None:
        async with open_store(folder, FakeClock(), settings=_settings(Random(0))) as store:
            spec = TargetSpec(manager="fake", limits=Limits(poll_interval=Duration(seconds=10)))
            await store.put_target(Target("default", "outside", "", spec))

    with asyncio.Runner(loop_factory=ProcessLoop) as runner:
        runner.run(fill())
    with sqlite3.connect(folder / "bascule.db") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class _World:
    def __init__(self, story: Story, folder: Path, loop: ProcessLoop) -> None:
        self.story = story
        self.folder = folder
        self.loop = loop
        self.luck = Random(story.seed + 1)
        self.clock = FakeClock()
        self.outside = Outside(self.clock, history=story.abilities.history)
        self.outside.courses = story.courses
        self.outside.purge_after = story.purge_after
        self.outside.completes_in = story.completes_in
        self.record = Record(story, self.outside._ledger)
        self.driver: Process | None = None
        self.stores: dict[str, Store] = {}
        self.serial = 0
        self.disk_full = False

    async def happen(self) -> Record:
        async with open_store(self.folder, self.clock, settings=_settings(self.luck)) as front:
            self.front = front
            await self.take_over()
            for at, job in self.story.jobs:
                self._later(at, partial(self._begin, self._create, job))
            for deed in self.story.deeds:
                self._later(deed.at, partial(self._begin, self._deed, deed))
            await self._until_over()
            await self._look_at_the_end()
        return self.record

    async def take_over(self) -> None:
        """Start a process that drives, in the place of whatever drove before."""
        self.serial += 1
        process = self.driver = Process(f"driver-{self.serial}")
        process.start(self.loop, self._drive(process))
        await asyncio.sleep(0)

    async def _drive(self, process: Process) -> None:
        weather = SeededWeather(self.story, Random(self.luck.random()), self.loop.time)
        manager = FakeManager(self.outside, self.story.abilities, clock=self.clock, weather=weather)

        async def connect(target: Target, namespace: str) -> FakeManager:
            return manager

        async with open_store(self.folder, self.clock, settings=_settings(self.luck)) as store:
            self.stores[process.name] = store
            self._observe(store, process)
            while not await store.lead():
                await self.clock.sleep(1.0)
            self.record.epochs.append((store._epoch, store._reader.meta()[2]))  # noqa: SLF001
            runner = Runner(store, connect, self.clock, pace=PACE, luck=Random(self.luck.random()))
            try:
                await runner.run()
            except* Error as fault:
                self.record.crashes.append(f"{process.name}: {fault.exceptions[0]!r}")
            finally:
                self.record.polls += manager.requests["observe"]

    def _observe(self, store: Store, process: Process) -> None:
        """Watch what is saved: a final phase may be saved once, and never be left."""
        save, remove = store.save, store.remove

        async def saved(job: Job, events: object = ()) -> Job:
            if self.disk_full:
                from bascule.errors import StoreFailed

                await asyncio.sleep(0)
                raise StoreFailed("the disk is full")
            result = await save(job, events)  # type: ignore[arg-type]
            version, phase = int(result.version), job.status.phase
            final = self.record.finals.get(job.uid)
            if final is not None and version > final[0] and phase is not final[1]:
                self.record.left.append(f"{job.name} left {final[1]} for {phase}")
            if phase.is_final:
                self.record.finals[job.uid] = (version, phase)
                if phase is Phase.CANCELLED:
                    self.record.cancelled_at.setdefault(job.status.key, self.loop.time())
            if any(epoch > store._epoch and since < version for epoch, since in self.record.epochs):  # noqa: SLF001
                self.record.left.append(f"{process.name} saved {job.name} after another had taken over")
            return result

        async def removed(job: Job) -> None:
            await remove(job)
            self.record.removed[job.status.key] = self.loop.time()

        store.save, store.remove = saved, removed  # type: ignore[method-assign]

    def _later(self, seconds: float, what: Callable[[], object]) -> None:
        """Let the world, and no process in it, do something."""
        self.loop.call_later(seconds, what, context=Context())

    def _begin(self, what: Callable[[Any], Coroutine[Any, Any, None]], of: object) -> None:
        self._do(what(of))

    def _do(self, deed: Coroutine[Any, Any, None]) -> None:
        self.loop.create_task(deed, name="deed")

    async def _create(self, job: Job) -> None:
        await self.front.create(job)

    async def _deed(self, deed: Deed) -> None:
        driver = self.driver
        ref = Ref("default", deed.job)
        match deed.what:
            case "cancel":
                await change(self.front, ref, cancel=True)
            case "delete":
                await self.front.delete(ref)
            case "suspend" | "hold":
                await change(self.front, ref, **{deed.what: True})
                await asyncio.sleep(deed.amount)
                await change(self.front, ref, **{deed.what: False})
            case "crash" if driver is not None:
                driver.strike(self.luck.randrange(1, 60), lambda: self._crash(driver))
            case "freeze" if driver is not None:
                driver.strike(self.luck.randrange(1, 60), lambda: self._freeze(driver, deed.amount))
            case "restart":
                self.outside.restart(forgets=self.luck.choice([0.0, 5.0]))
            case "down":
                self.outside.is_down = True
                await asyncio.sleep(deed.amount)
                self.outside.is_down = False
            case "babble":
                living = self.outside.living()
                for job in living:
                    self.outside.say(job, "QUANTUM_FLUX")
                await asyncio.sleep(deed.amount)
                for job in living:
                    self.outside.say(job, "")
            case "wander":
                self.clock.step(timedelta(seconds=self.luck.choice([-300.0, -5.0, 5.0, 300.0])))
            case "disk":
                self.disk_full = True
                await asyncio.sleep(deed.amount)
                self.disk_full = False

    def _crash(self, process: Process) -> None:
        """Let it die where it stands; the kernel gives its lock back; another takes over."""
        process.kill()
        self._unlock(process)
        if process is self.driver:
            self.driver = None
            self._later(self.luck.uniform(0.1, 20), lambda: self._do(self.take_over()))

    def _freeze(self, process: Process, seconds: float) -> None:
        """Let it stand still until its successor has been at work for a while, as after a lease that ran out."""
        process.freeze()
        self._unlock(process)
        if process is self.driver:
            self.driver = None
            self._later(self.luck.uniform(0.1, seconds), lambda: self._do(self.take_over()))
            self._later(seconds, lambda: process.thaw(self.loop))

    def _unlock(self, process: Process) -> None:
        store = self.stores.get(process.name)
        if store is not None:
            store._lock.release()

    async def _until_over(self) -> None:
        last = max([0.0, self.story.storm_until, *[deed.at + deed.amount for deed in self.story.deeds]])
        await asyncio.sleep(last + 6)
        while self.loop.time() < HORIZON:
            live = [job async for job in self.front.list(Selector(live=True))]
            if not live:
                break
            await asyncio.sleep(30)
        await asyncio.sleep(SETTLED)

    async def _look_at_the_end(self) -> None:
        async for job in self.front.list(Selector()):
            self.record.jobs[job.name] = job
        self.record.instances = self.outside.instance
        self.record.living = self.outside.living()
        self.record.seconds = self.loop.time()
        self.record.steps = self.driver.steps if self.driver else 0
        if self.driver is not None:
            self.driver.kill()


def _settings(luck: Random) -> Settings:
    return Settings(
        threads=False,
        synchronous="OFF",
        watch_every=2.0,
        fresh_id=lambda: f"{luck.getrandbits(128):032x}",
    )


@contextmanager
def homes(root: Path) -> Iterator[object]:
    """Give a function that makes a fresh copy of a prepared home beneath *root*, and clear it all away."""
    template = root / "template"
    prepare(template)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, root, ignore_errors=True)

        def fresh() -> Path:
            home = root / "home"
            with suppress(FileNotFoundError):
                shutil.rmtree(home)
            shutil.copytree(template, home)
            return home

        yield fresh
