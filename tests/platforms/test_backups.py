"""A database that is older than the truth is noticed, and jobs in it are distrusted."""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta

import pytest

from bascule.errors import StoreFailed
from bascule.model import Phase
from bascule.platforms.embedded import Settings, open_store
from bascule.platforms.embedded.witness import Witness
from tests.contracts.platform_world import PlatformWorld, in_phase
from tests.platforms.process import DRIVE, process
from tests.virtual import FakeClock, VirtualLoop


class Installation:
    """A home over time: each `run` is a process that opens it later."""

    def __init__(self, folder):
        self.path = folder / "home"
        self.database = self.path / "bascule.db"
        self.clock = FakeClock()
        self.jobs = PlatformWorld(folder)

    @asynccontextmanager
    async def run(self, *, drive=True):
        self.clock.step(timedelta(hours=1))
        settings = Settings(threads=False, synchronous="OFF")
        async with open_store(self.path, self.clock, drive=drive, settings=settings) as store:
            yield store

    async def submit(self):
        """Run once and submit a job; return it."""
        async with self.run() as store:
            job = await store.create(self.jobs.job())
            return await store.save(in_phase(job, Phase.QUEUED, id="4711"))

    def back_up(self):
        """Return a copy of the database, taken as a person would while a driver may be at work."""
        copy = self.path.parent / "copy.db"
        with closing(sqlite3.connect(self.database)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        return copy

    def restore(self, copy):
        """Put *copy* in place, as the same file."""
        shutil.copyfile(copy, self.database)


@pytest.fixture
def installation(tmp_path):
    return Installation(tmp_path)


class TestRestored:
    """Jobs may have been submitted, or have ended, without the database's knowing."""

    loop_factory = VirtualLoop

    async def test_an_older_copy_is_noticed(self, installation):
        old = await installation.submit()
        copy = installation.back_up()
        await installation.submit()

        installation.restore(copy)

        async with installation.run() as store:
            assert installation.clock.now() == store.distrusts_before
            assert old == await store.get(old.ref)
            assert old.created_at < store.distrusts_before

    async def test_a_copy_of_the_same_run_is_noticed(self, installation):
        """
        The driver did not change between the copy and the loss; the count of changes tells.
        """
        async with installation.run() as store:
            job = await store.create(installation.jobs.job())
            copy = installation.back_up()
            await store.save(in_phase(job, Phase.QUEUED, id="4711"))

        installation.restore(copy)

        async with installation.run() as store:
            assert store.distrusts_before is not None
            assert Phase.PENDING == (await store.get(job.ref)).status.phase

    async def test_a_copy_from_before_the_first_driver_is_noticed(self, installation):
        async with installation.run(drive=False) as store:
            await store.create(installation.jobs.job())
        copy = installation.back_up()
        await installation.submit()

        installation.restore(copy)

        async with installation.run() as store:
            assert store.distrusts_before is not None

    async def test_its_jobs_are_distrusted_though_the_clock_was_set_back(self, installation):
        """
        Else they go outside a second time: by the time of day they were made after the copy was noticed.
        """
        job = await installation.submit()
        copy = installation.back_up()
        await installation.submit()
        installation.restore(copy)
        installation.clock.step(timedelta(days=-1))

        async with installation.run() as store:
            assert store.distrusts_before > job.created_at

    async def test_it_is_noticed_by_whoever_opens_first(self, installation):
        await installation.submit()
        copy = installation.back_up()
        await installation.submit()
        installation.restore(copy)

        async with installation.run(drive=False) as store:
            noticed = store.distrusts_before

        assert noticed is not None
        async with installation.run() as store:
            assert noticed == store.distrusts_before

    async def test_it_is_remembered(self, installation):
        """
        A job that was not looked up before the next end is looked up after it.
        """
        await installation.submit()
        copy = installation.back_up()
        await installation.submit()
        installation.restore(copy)
        async with installation.run() as store:
            noticed = store.distrusts_before

        for _ in range(2):
            new = await installation.submit()

        async with installation.run() as store:
            assert noticed == store.distrusts_before
            assert new.created_at > noticed

    async def test_no_version_is_given_twice(self, installation):
        """
        Whoever read a job before the loss must not be able to save over what came after.
        """
        job = await installation.submit()
        copy = installation.back_up()
        async with installation.run() as store:
            lost = [await store.save(in_phase(job, Phase.RUNNING))]
            lost.append(await store.create(installation.jobs.job()))
        installation.restore(copy)

        async with installation.run() as store:
            new = [await store.create(installation.jobs.job()) for _ in range(3)]
            new.append(await store.save(in_phase(job, Phase.FAILED)))

        assert {job.version for job in new}.isdisjoint(job.version for job in lost)

    async def test_a_copy_of_the_whole_home_is_noticed(self, installation, monkeypatch):
        """
        Its witness is as old as its database, but was not written here and then.
        """
        await installation.submit()
        copy = installation.path.parent / "copy"
        shutil.copytree(installation.path, copy)
        await installation.submit()

        shutil.rmtree(installation.path)
        with monkeypatch.context() as later:
            later.setattr(time, "time", lambda: datetime(2026, 1, 1, tzinfo=UTC).timestamp())
            line = Witness(1, 4).line()  # as it would be in a copy that was made some time ago
        (copy / "witness").write_bytes(line)
        shutil.copytree(copy, installation.path)

        async with installation.run() as store:
            assert store.distrusts_before is not None

    @pytest.mark.parametrize(
        "content",
        [None, b"", b"1 2", b"9 9 9 0\n", Witness(1, 1).line()[1:], b"\xff" * 96],
        ids=["missing", "empty", "short", "wrong", "torn", "garbage"],
    )
    async def test_a_database_without_its_witness_is_distrusted(self, installation, content):
        await installation.submit()
        witness = installation.path / "witness"
        witness.unlink() if content is None else witness.write_bytes(content)

        async with installation.run() as store:
            noticed = store.distrusts_before

        assert noticed is not None
        async with installation.run() as store:
            assert noticed == store.distrusts_before


class TestTrusted:
    """Nothing is distrusted without a reason: each look-up is a request to a manager."""

    loop_factory = VirtualLoop

    async def test_a_new_home(self, installation):
        async with installation.run() as store:
            assert store.distrusts_before is None

    async def test_a_home_that_is_used_by_turns(self, installation):
        for drive in (False, True, False, True):
            async with installation.run(drive=drive) as store:
                await store.create(installation.jobs.job())
                assert store.distrusts_before is None

    async def test_a_home_that_was_moved(self, installation):
        await installation.submit()

        installation.path = installation.path.rename(installation.path.with_name("moved"))

        async with installation.run() as store:
            assert store.distrusts_before is None

    async def test_a_driver_that_was_killed(self, installation):
        for _ in range(3):
            with process(installation.path, DRIVE) as driver:
                assert "drives\n" == driver.stdout.readline()

        async with installation.run() as store:
            assert store.distrusts_before is None

    async def test_opened_again_and_again_beside_a_busy_driver(self, installation):
        busy = DRIVE.replace(
            "await asyncio.Event().wait()",
            "await asyncio.gather(*(store.create(job(f'{n}')) for n in range(20000)))",
        ).replace("drive=True):", "drive=True) as store:")
        with process(installation.path, busy) as driver:
            driver.stdout.readline()
            for _ in range(50):
                async with installation.run(drive=False) as store:
                    assert store.distrusts_before is None


class TestWitness:
    """A small file with a check sum."""

    def test_comes_back(self, tmp_path):
        witness = Witness(10**6, 10**15)

        witness.write(tmp_path / "witness", durably=False)

        assert witness == Witness.read(tmp_path / "witness")
        assert 0o600 == (tmp_path / "witness").stat().st_mode & 0o777

    def test_a_torn_one_is_none(self, tmp_path):
        """
        It is read while it is written, without a lock.
        """
        old, new = Witness(3, 1999), Witness(3, 2000)

        for at in range(len(old.line())):
            (tmp_path / "witness").write_bytes(old.line()[:at] + new.line()[at:])
            assert Witness.read(tmp_path / "witness") in {None, old, new}

    def test_a_late_one_is_none(self, tmp_path, monkeypatch):
        """
        A file cannot have changed at another time than when it was written, unless it was copied.
        """
        written = time.time() - 3600
        monkeypatch.setattr(time, "time", lambda: written)

        Witness(3, 1999).write(tmp_path / "witness", durably=False)

        assert Witness.read(tmp_path / "witness") is None


@pytest.mark.parametrize("left", [None, b""], ids=["gone", "empty"])
async def test_a_home_that_lost_its_database_is_not_taken_for_a_new_one(tmp_path, left):
    """
    Else every job of it could be submitted once more.
    """
    async with open_store(tmp_path / "home", FakeClock(), drive=True):
        pass
    for file in (tmp_path / "home").glob("bascule.db*"):
        file.unlink()
    if left is not None:
        (tmp_path / "home" / "bascule.db").write_bytes(left)

    with pytest.raises(StoreFailed, match="is gone"):
        async with open_store(tmp_path / "home", FakeClock()):
            pass
