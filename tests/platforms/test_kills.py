"""kill -9 at any moment: what was acknowledged is there."""

from __future__ import annotations

import random
import sqlite3
from contextlib import aclosing, closing

import pytest

from bascule.model import Phase
from bascule.platforms.embedded import open_store
from bascule.ports import Selector
from tests.platforms.process import process
from tests.virtual import FakeClock

pytestmark = pytest.mark.slow

ACCEPTS = """
async def main():
    async with open_store(home, clock, drive=True) as store:
        async def work(worker):
            n = 0
            while True:
                name = f"{os.getpid()}-{worker}-{n}"
                made = await store.create(job(name))
                say("accepted", name)
                saved = await store.save(in_phase(made, Phase.QUEUED, message=name), [event(message=name)])
                say("queued", name)
                if n % 3 == 0:
                    await store.remove(saved)
                    say("removed", name)
                n += 1

        await asyncio.gather(*(work(n) for n in range(32)))

asyncio.run(main())
"""


class TestKilled:
    """A real process, a real file, a real kill."""

    @pytest.mark.parametrize("run", range(4))
    async def test_what_was_acknowledged_is_there(self, tmp_path, run):
        """
        Each run is killed after another number of acknowledgements, in the middle of further commits.
        """
        acknowledged = {"accepted": set(), "queued": set(), "removed": set()}
        for _ in range(3):
            with process(tmp_path, ACCEPTS) as running:
                for _ in range(random.randrange(1, 1500)):
                    self.note(running.stdout.readline(), acknowledged)
                running.kill()
                for line in running.stdout:
                    self.note(line, acknowledged)

        with closing(sqlite3.connect(tmp_path / "bascule.db")) as database:
            assert [("ok",)] == database.execute("PRAGMA integrity_check").fetchall()
        async with open_store(tmp_path, FakeClock()) as store, aclosing(store.list(Selector())) as jobs:
            stored = {job.name: job async for job in jobs}
            queued = {name for name, job in stored.items() if job.status.phase is Phase.QUEUED}
            told = {name: await store.events(job.ref) for name, job in stored.items()}

        assert not acknowledged["removed"] & stored.keys()
        # What was about to be removed may be gone although nobody was told.
        rest = {name for name in acknowledged["accepted"] if int(name.split("-")[2]) % 3}
        assert rest <= stored.keys()
        assert rest & acknowledged["queued"] <= queued
        assert all(bool(told[name]) == (name in queued) for name in stored)

    @pytest.mark.parametrize("point", ["store.commit", "store.committed"])
    async def test_a_write_is_there_from_its_commit_on(self, tmp_path, point):
        """
        Killed just before the commit it never was; killed just after it, it is there although nobody was told.
        """
        accepts = """
async def main():
    async with open_store(home, clock) as store:
        await store.create(job("first"))
        say("first")
        await store.create(job("second"))
        say("second")

asyncio.run(main())
"""
        with process(tmp_path, accepts, failpoint=f"{point}:2") as running:
            said = running.stdout.read()

        async with open_store(tmp_path, FakeClock()) as store, aclosing(store.list(Selector())) as jobs:
            there = [job.name async for job in jobs]

        assert "first\n" == said
        assert (["first", "second"] if point == "store.committed" else ["first"]) == there

    @staticmethod
    def note(line, acknowledged):
        if line.endswith("\n"):
            what, name = line.split()
            acknowledged[what].add(name)
