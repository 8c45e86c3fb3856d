"""What people and the world do in a simulation, each by its name in the story."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from bascule.bridge.admission import change
from bascule.errors import Unavailable
from bascule.model import Duration, Job, Ref, parts_of
from bascule.platforms.embedded.store import Store
from tests.simulation.processes import Process
from tests.simulation.story import Deed

if TYPE_CHECKING:
    from tests.simulation.world import World

T = TypeVar("T")

FORGETS_ALL = 1e9


class Deeds:
    """Does what the story says."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._luck = world.luck
        self._outside = world.outside

    async def create(self, job: Job) -> None:
        """Somebody submits a job."""
        await self.insist(lambda front: front.create(job))

    async def do(self, deed: Deed) -> None:
        """Let *deed* happen, if it can."""
        self._world.record.deeds.append((self._world.loop.time(), str(deed)))
        await getattr(self, f"_{deed.what}")(deed)

    async def insist(self, wish: Callable[[Store], Awaitable[T]]) -> T:
        """Ask for something until it is accepted, as people do."""
        while True:
            front = self._world.front
            try:
                if front is not None:
                    answer = await wish(front)
                    self._world.loop.call_later(self._luck.choice([0.0, 0.0, 2.0]), self._world.poke)
                    return answer
            except (Unavailable, sqlite3.ProgrammingError):
                pass
            await asyncio.sleep(3.0)

    # People

    async def _change(self, deed: Deed, **fields: object) -> None:
        await self.insist(lambda front: change(front, Ref("default", deed.job), **fields))

    async def _cancel(self, deed: Deed) -> None:
        await self._change(deed, cancel=True)

    async def _delete(self, deed: Deed) -> None:
        await self.insist(lambda front: front.delete(Ref("default", deed.job)))

    async def _suspend(self, deed: Deed) -> None:
        await self._change(deed, suspend=True)
        await asyncio.sleep(deed.amount)
        await self._change(deed, suspend=False)

    async def _hold(self, deed: Deed) -> None:
        await self._change(deed, hold=True)
        await asyncio.sleep(deed.amount)
        await self._change(deed, hold=False)

    async def _walltime(self, deed: Deed) -> None:
        await self._change_within(deed, "resources", walltime=Duration(seconds=int(deed.amount) + 1))

    async def _deadline(self, deed: Deed) -> None:
        await self._change_within(deed, "deadlines", running=Duration(seconds=int(deed.amount) + 1))

    async def _change_within(self, deed: Deed, part: str, **fields: object) -> None:
        ref = Ref("default", deed.job)

        async def wish(front: Store) -> None:
            job = await front.get(ref)
            if job is not None:
                await change(front, ref, **{part: replace(getattr(job.spec, part), **fields)})

        await self.insist(wish)

    # Processes

    async def _crash(self, deed: Deed) -> None:
        self._strike(self._die)

    async def _freeze(self, deed: Deed) -> None:
        self._strike(lambda process: self._stand_still(process, deed.amount))

    async def _usurp(self, deed: Deed) -> None:
        """Another takes over while the first goes on, as on a file system whose locks do not hold."""
        self._strike(self._be_replaced)

    async def _rival(self, deed: Deed) -> None:
        """One more waits to drive."""
        self._world.start_driver()

    def _strike(self, what: Callable[[Process], None]) -> None:
        """Let *what* happen to the driver, in the middle of whatever it does next."""
        process = self._world.leader
        if process is not None:
            process.strike(self._luck.choice([1, 4, 15, 60]) * self._luck.randrange(1, 8), lambda: what(process))

    def _die(self, process: Process) -> None:
        self._world.kill(process)
        self._note(f"{process.name} crashed")
        self._world.later(self._luck.uniform(0.1, 20), self._start)

    def _stand_still(self, process: Process, seconds: float) -> None:
        """Its successor is at work for a while before it wakes up, as after a lease that ran out."""
        process.freeze()
        self._world.unlock(process)
        self._note(f"{process.name} froze")
        self._world.later(self._luck.uniform(0.1, seconds), self._start)
        self._world.later(seconds, self._thaw, process)

    def _be_replaced(self, process: Process) -> None:
        self._world.unlock(process)
        self._note(f"{process.name} is replaced")
        self._world.start_driver()

    async def _start(self) -> None:
        self._world.start_driver()

    async def _thaw(self, process: Process) -> None:
        if not process.dead:
            self._note(f"{process.name} goes on")
            process.thaw(self._world.loop)

    # The manager

    async def _restart(self, deed: Deed) -> None:
        is_volatile = self._world.story.abilities.volatile
        self._outside.restart(
            forgets=self._luck.choice([FORGETS_ALL, FORGETS_ALL, 5.0] if is_volatile else [0.0, 5.0, 5.0])
        )

    async def _down(self, deed: Deed) -> None:
        self._outside.is_down = True
        await asyncio.sleep(deed.amount)
        self._outside.is_down = False

    async def _locked(self, deed: Deed) -> None:
        """The credentials are not accepted for a while."""
        self._outside.locked = True
        await asyncio.sleep(deed.amount)
        self._outside.locked = False

    async def _history(self, deed: Deed) -> None:
        self._outside.history_is_down = True
        await asyncio.sleep(deed.amount)
        self._outside.history_is_down = False

    async def _babble(self, deed: Deed) -> None:
        """The manager uses words that nobody knows, for a while."""
        living = self._outside.living()
        for job in living:
            self._outside.say(job, "QUANTUM_FLUX")
        await asyncio.sleep(deed.amount)
        for job in living:
            self._outside.say(job, "")

    async def _requeue(self, deed: Deed) -> None:
        """A node is lost, and its job starts again."""
        for job in self._outside.living():
            if job.state == "RUNNING" and parts_of(job.key):
                self._outside.requeue(job)
                return

    async def _reuse(self, deed: Deed) -> None:
        """A stranger gets the number of a job of ours."""
        for job in self._outside.living():
            if job.ended is not None and parts_of(job.key) and job.id.isdigit():
                self._outside.reuse(job)
                return

    # The machine

    async def _wander(self, deed: Deed) -> None:
        self._world.clock.step(timedelta(seconds=self._luck.choice([-300.0, -5.0, 5.0, 300.0])))

    async def _full(self, deed: Deed) -> None:
        self._world.disk.state = "full"
        await asyncio.sleep(deed.amount)
        self._world.disk.state = "good"

    async def _shaky(self, deed: Deed) -> None:
        self._world.disk.state = "shaky"
        await asyncio.sleep(deed.amount)
        self._world.disk.state = "good"

    async def _backup(self, deed: Deed) -> None:
        with sqlite3.connect(self._database) as database:
            self._world.backup = database.serialize()
        database.close()

    async def _restore(self, deed: Deed) -> None:
        """Everybody stops; an older copy is put in the database's place; everybody starts again."""
        world = self._world
        await world.show_people_out()
        for process in list(world.processes):
            world.kill(process)
        self._put_back(world.backup)
        world.record.restored.append(world.loop.time())
        world.record.finals.clear()
        await asyncio.sleep(deed.amount)
        await world.let_people_in()
        world.start_driver()
        for _, job in world.story.jobs:
            await self._wish_again(job.name)

    def _put_back(self, backup: bytes) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._database}{suffix}").unlink(missing_ok=True)
        self._database.write_bytes(backup)

    async def _wish_again(self, name: str) -> None:
        """People look through what is there after a restore, and repeat what the copy does not know."""
        done = {deed.what for deed in self._world.story.deeds if deed.job == name and deed.at < self._world.loop.time()}
        wanted = {"hold": False, "suspend": False, "cancel": "cancel" in done}
        await self.insist(lambda front: change(front, Ref("default", name), **wanted))
        if "delete" in done:
            await self.insist(lambda front: front.delete(Ref("default", name)))

    @property
    def _database(self) -> Path:
        return self._world.folder / "bascule.db"

    def _note(self, what: str) -> None:
        self._world.record.deeds.append((self._world.loop.time(), what))
