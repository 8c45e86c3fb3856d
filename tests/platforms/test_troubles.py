"""A disk that is full, fails or is read-only, a file that is damaged or held by somebody who sleeps."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
from contextlib import closing, contextmanager

import pytest

from bascule.errors import Error, StoreFailed, Unavailable
from bascule.model import Phase
from bascule.platforms.embedded import Settings, open_store
from bascule.platforms.embedded.faults import meaning_of
from bascule.ports import Selector
from tests.contracts.platform_world import event, in_phase
from tests.needs import needs_root
from tests.platforms.embedded_world import EmbeddedWorld, ThreadedWorld
from tests.platforms.process import freeze, process
from tests.virtual import FakeClock

LARGE = 300_000


@pytest.fixture
async def world(tmp_path):
    async with ThreadedWorld(tmp_path) as world:
        yield world


@contextmanager
def small_disk(folder, size):
    """Let *folder* be a disk of its own."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@contextmanager
def room_for(world, bytes_more):
    """Let the database grow by so much only; this is how SQLite sees a quota."""
    connections = [store._writer._pen._connection for store in (world.front, world.driver)]
    pages, size = (connections[0].execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size"))
    for connection in connections:
        connection.execute(f"PRAGMA max_page_count = {pages + bytes_more // size}")
    yield
    for connection in connections:
        connection.execute("PRAGMA max_page_count = 1000000000")


class TestFullDisk:
    """New submits are stopped with a clear error; what was accepted is safe, and work goes on by itself."""

    async def test_is_told_with_a_hint_and_passes_by_itself(self, world):
        await world.stored("before")

        with room_for(world, 0):
            with pytest.raises(StoreFailed, match="disk is full") as caught:
                await world.stored("large", script="x" * LARGE)
            assert "make room" in caught.value.hint
            assert ["before"] == await world.names(Selector())

        await world.stored("large", script="x" * LARGE)
        assert ["before", "large"] == await world.names(Selector())

    async def test_one_that_does_not_fit_does_not_hurt_those_that_do(self, world):
        """
        All are written in one transaction, which fails as a whole; each is then tried alone.
        """
        await world.stored()
        jobs = [world.job(f"{n}", script="x" * LARGE if n == 5 else "true") for n in range(10)]

        with room_for(world, LARGE // 2):
            answers = await asyncio.gather(*map(world.front.create, jobs), return_exceptions=True)

        [failed] = [n for n, answer in enumerate(answers) if isinstance(answer, Error)]
        assert 5 == failed
        for job in answers[:5] + answers[6:]:
            assert job == await world.front.get(job.ref)

    async def test_a_status_that_could_not_be_saved_is_the_old_one(self, world):
        """
        Neither the status nor what happened is stored by half.
        """
        job = await world.stored()

        with room_for(world, 0), pytest.raises(StoreFailed):
            await world.driver.save(in_phase(job, Phase.QUEUED, message="x" * LARGE), [event()])

        assert job == await world.front.get(job.ref)
        assert not await world.front.events(job.ref)
        await world.driver.save(in_phase(job, Phase.QUEUED))

    @needs_root
    @pytest.mark.root
    async def test_a_real_one(self, tmp_path):
        """
        Small jobs until nothing fits; all that were accepted are there, and with room again it goes on.
        """
        with small_disk(tmp_path / "home", "3m") as home:
            async with ThreadedWorld(tmp_path) as world:
                stopper = home / "stopper"
                stopper.write_bytes(b"x" * 500_000)
                accepted, refusals = [], []
                while len(refusals) < 3:
                    batch = [world.job(script="x" * 10_000) for _ in range(20)]
                    answers = await asyncio.gather(*map(world.front.create, batch), return_exceptions=True)
                    accepted += [answer for answer in answers if not isinstance(answer, Exception)]
                    refusals += [answer for answer in answers if isinstance(answer, Exception)]

                assert all(isinstance(refusal, StoreFailed) for refusal in refusals)
                assert [job.name for job in accepted] == await world.names(Selector())
                stopper.unlink()
                late = await world.stored("late")
                assert late == await world.driver.get(late.ref)
                await world.driver.save(in_phase(late, Phase.QUEUED), [event()])

    @needs_root
    @pytest.mark.root
    async def test_a_new_home_on_a_full_disk_is_told(self, tmp_path):
        with small_disk(tmp_path / "home", "64k") as home:
            stopper = home / "stopper"
            stopper.write_bytes(b"x" * 60_000)
            with pytest.raises(StoreFailed) as caught:
                async with open_store(home, FakeClock(), drive=True):
                    pass
            assert caught.value.hint


class TestDamage:
    """Told, with the way back; and never made worse."""

    @pytest.mark.parametrize(
        "content", [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000], ids=["text", "header"]
    )
    async def test_a_file_that_is_no_database(self, tmp_path, content):
        database = tmp_path / "bascule.db"
        database.write_bytes(content)

        with pytest.raises(StoreFailed, match="damaged") as caught:
            async with open_store(tmp_path, FakeClock()):
                pass

        assert "integrity_check" in caught.value.hint
        assert "backup" in caught.value.hint
        assert content == database.read_bytes()

    async def test_a_damaged_page(self, tmp_path):
        """
        Met in the middle of the work: reads and writes say so, and nothing is taken for absent.
        """
        async with EmbeddedWorld(tmp_path) as world:
            jobs = [await world.stored(script="x" * 3000) for _ in range(50)]
        _overwrite_pages(tmp_path / "home" / "bascule.db")

        async with open_store(tmp_path / "home", FakeClock()) as store:
            with pytest.raises(StoreFailed, match="damaged"):
                await store.get(jobs[10].ref)
            with pytest.raises(StoreFailed, match="damaged"):
                await store.create(world.job("new"))

    @pytest.mark.parametrize(
        "damage",
        ["UPDATE jobs SET status = '{'", """UPDATE jobs SET status = '{"phase": "Nowhere"}'""", "DELETE FROM specs"],
    )
    async def test_a_job_that_cannot_be_read_is_named(self, tmp_path, damage):
        async with EmbeddedWorld(tmp_path) as world:
            job = await world.stored("train")
            with closing(sqlite3.connect(tmp_path / "home" / "bascule.db")) as database, database:
                database.execute(damage)

            with pytest.raises(StoreFailed, match="job `train`"):
                await world.front.get(job.ref)

    async def test_a_restored_copy_works_again(self, tmp_path):
        async with EmbeddedWorld(tmp_path) as world:
            job = await world.stored()
        database = tmp_path / "home" / "bascule.db"
        copy = database.read_bytes()
        _overwrite_pages(database)

        database.write_bytes(copy)

        async with open_store(tmp_path / "home", FakeClock()) as store:
            assert job == await store.get(job.ref)


class TestBusy:
    """Somebody else writes, and does not end."""

    async def test_a_process_that_sleeps_within_a_write_is_told_of(self, tmp_path):
        writes = """
import sqlite3
database = sqlite3.connect(home / "bascule.db", isolation_level=None)
database.execute("BEGIN IMMEDIATE")
say("writes")
sys.stdin.read()
"""
        async with open_store(tmp_path, FakeClock(), settings=Settings(patience=0.05)) as store:
            with process(tmp_path, writes) as other:
                other.stdout.readline()
                freeze(other)
                with pytest.raises(Unavailable, match="another process") as caught:
                    await store.create(EmbeddedWorld(tmp_path).job("new"))
                assert "fuser" in caught.value.hint

            assert await store.create(EmbeddedWorld(tmp_path).job("new"))

    async def test_a_short_write_of_another_is_waited_for(self, tmp_path):
        writes = """
async def main():
    async with open_store(home, clock) as store:
        say("writes")
        while True:
            await store.create(job(str(clock.monotonic())))

asyncio.run(main())
"""
        async with open_store(tmp_path, FakeClock(), drive=True) as store:
            with process(tmp_path, writes) as one, process(tmp_path, writes) as two:
                one.stdout.readline()
                two.stdout.readline()
                job = await store.create(EmbeddedWorld(tmp_path).job("mine"))
                for n in range(50):
                    job = await store.save(in_phase(job, Phase.QUEUED, message=str(n)))

            assert job == await store.get(job.ref)


class TestMeaning:
    """What SQLite says, and what it means."""

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            (sqlite3.SQLITE_FULL, "disk is full"),
            (sqlite3.SQLITE_IOERR_SHMSIZE, "disk is full"),
            (sqlite3.SQLITE_IOERR_FSYNC, "disk failed"),
            (sqlite3.SQLITE_READONLY_DBMOVED, "cannot be opened"),
            (sqlite3.SQLITE_CANTOPEN, "cannot be opened"),
            (sqlite3.SQLITE_CORRUPT_INDEX, "damaged"),
            (sqlite3.SQLITE_NOTADB, "damaged"),
            (sqlite3.SQLITE_BUSY_RECOVERY, "another process"),
        ],
    )
    def test_is_told_with_a_hint(self, tmp_path, code, words):
        fault = sqlite3.OperationalError("as SQLite says")
        fault.sqlite_errorcode = code

        meaning = meaning_of(fault, tmp_path / "bascule.db")

        assert words in meaning.message
        assert str(tmp_path) in meaning.message + meaning.hint

    def test_a_bug_stays_a_bug(self, tmp_path):
        with closing(sqlite3.connect(":memory:")) as database, pytest.raises(sqlite3.OperationalError) as caught:
            database.execute("SELEC")

        assert meaning_of(caught.value, tmp_path) is None


def _overwrite_pages(database):
    """Damage all but the first pages, as a failing disk would."""
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(8 * 4096)
        file.write(os.urandom(size - 8 * 4096))
