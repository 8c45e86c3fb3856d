"""A quick look tells what the store knows, quickly, and changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from msgspec.structs import replace

from bascule.errors import Mistake, StoreFailed
from bascule.model import Phase
from bascule.platforms.embedded.glance import CHUNK, glance
from bascule.platforms.embedded.places import SCHEMA
from tests.contracts.platform_world import EVERY_FIELD_OF_STATUS
from tests.needs import needs_root
from tests.platforms.embedded_world import EmbeddedWorld
from tests.platforms.process import process
from tests.virtual import VirtualLoop


@pytest.fixture
async def world(tmp_path):
    async with EmbeddedWorld(tmp_path) as world:
        yield world


def names(home, **selected):
    return [line.name for line in glance(home, **selected)]


class TestLines:
    """What a table needs."""

    loop_factory = VirtualLoop

    async def test_are_what_the_store_knows(self, world, tmp_path):
        job = await world.stored("train", labels={"größe": "x"})
        job = await world.driver.save(replace(job, status=EVERY_FIELD_OF_STATUS))

        [line] = glance(tmp_path / "home")

        status = job.status
        assert (job.name, "default", "local") == (line.name, line.namespace, line.target)
        assert ("Failed", "TimedOut", "4711", 2, 143) == (
            line.phase,
            line.reason,
            line.id,
            line.attempt,
            line.exit_code,
        )
        assert status.message == line.message
        assert job.created_at.timestamp() == pytest.approx(line.created)
        assert status.started_at.timestamp() == pytest.approx(line.started) == pytest.approx(line.finished)
        assert line.deleted is None
        assert {"größe": "x"} == json.loads(line.labels)

    async def test_of_a_new_job(self, world, tmp_path):
        await world.stored()

        [line] = glance(tmp_path / "home")

        assert ("Pending", "", None, 0, None) == (line.phase, line.reason, line.id, line.attempt, line.started)

    async def test_of_a_deleted_job(self, world, tmp_path):
        deleted = await world.front.delete((await world.stored()).ref)

        [line] = glance(tmp_path / "home")

        assert deleted.deleted_at.timestamp() == pytest.approx(line.deleted)

    async def test_all_that_are_asked_for_must_fit(self, world, tmp_path):
        await world.stored("one", labels={"a": "1", "b": "2"})
        await world.stored("two", labels={"a": "1"})
        await world.stored("two", namespace="other")
        await world.saved(Phase.RUNNING, name="three")
        home = tmp_path / "home"

        assert ["one", "two", "two", "three"] == names(home)
        assert ["one", "two", "three"] == names(home, namespace="default")
        assert ["one", "two"] == names(home, labels={"a": "1"})
        assert ["one"] == names(home, labels={"a": "1", "b": "2"})
        assert ["three"] == names(home, phases=["Running", "Queued"])
        assert ["two", "three"] == names(home, names=["two", "three"], namespace="default")
        assert [] == names(home, names=["two"], phases=["Running"])

    async def test_more_than_one_chunk(self, world, tmp_path):
        for n in range(CHUNK + 1):
            await world.stored(f"{n}")

        assert [f"{n}" for n in range(CHUNK + 1)] == names(tmp_path / "home")

    async def test_a_home_in_an_odd_folder(self, tmp_path):
        folder = tmp_path / "a?b#c%41 d"
        async with EmbeddedWorld(folder) as world:
            await world.stored("here")

            assert ["here"] == names(folder / "home")


class TestHomes:
    """In whatever state the home is."""

    loop_factory = VirtualLoop

    def test_one_that_is_not_there_has_no_jobs(self, tmp_path):
        assert [] == names(tmp_path / "none")
        assert not (tmp_path / "none").exists()

    def test_one_that_is_just_being_made_has_no_jobs(self, tmp_path):
        (tmp_path / "bascule.db").touch()

        assert [] == names(tmp_path)

    async def test_the_users_own_is_meant_where_none_is_named(self, world, tmp_path, monkeypatch):
        await world.stored("here")
        monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "home"))

        assert ["here"] == names(None)

    def test_one_whose_driver_was_killed(self, tmp_path):
        """
        What it had written is still in the log beside the database, and is read from there.
        """
        writes = """
async def main():
    async with open_store(home, clock, drive=True) as store:
        await store.create(job("here"))
        say("written")
        os.kill(os.getpid(), 9)

asyncio.run(main())
"""
        with process(tmp_path, writes) as driver:
            driver.stdout.readline()
            driver.wait()

        assert ["here"] == names(tmp_path)

    @needs_root
    @pytest.mark.root
    async def test_one_on_a_read_only_disk(self, tmp_path):
        async with EmbeddedWorld(tmp_path) as world:
            await world.stored("here")
        home = tmp_path / "home"
        subprocess.run(["mount", "--bind", "-o", "ro", home, home], check=True)  # noqa: ASYNC221
        try:
            assert ["here"] == names(home)
        finally:
            subprocess.run(["umount", home], check=True)  # noqa: ASYNC221

    async def test_one_of_a_newer_version_is_refused(self, tmp_path):
        async with EmbeddedWorld(tmp_path):
            pass
        with closing(sqlite3.connect(tmp_path / "home" / "bascule.db")) as database:
            database.execute(f"PRAGMA user_version = {SCHEMA + 1}")

        with pytest.raises(Mistake, match="newer"):
            names(tmp_path / "home")

    def test_a_damaged_one_is_told(self, tmp_path):
        (tmp_path / "bascule.db").write_bytes(b"no database at all" * 100)

        with pytest.raises(StoreFailed, match="damaged"):
            names(tmp_path)

    async def test_it_writes_nothing(self, tmp_path):
        async with EmbeddedWorld(tmp_path) as world:
            await world.saved(Phase.RUNNING)
        home = tmp_path / "home"
        shutil.copytree(home, tmp_path / "before")

        names(home)

        before = {file.name: file.read_bytes() for file in (tmp_path / "before").iterdir()}
        assert before == {
            file.name: file.read_bytes() for file in home.iterdir() if not file.name.endswith(("-shm", "-wal"))
        }


class TestCost:
    """Little longer than the start of Python."""

    def test_nothing_heavy_is_imported(self):
        """
        All that the standard library loads for `sqlite3` and no more; `bascule` itself is for others to keep small.
        """
        program = (
            "import sys, os, sqlite3, collections, importlib, bascule; before = set(sys.modules);"
            "import bascule.platforms.embedded.glance; print(*set(sys.modules) - before)"
        )

        loaded = subprocess.run(
            [sys.executable, "-c", program], check=True, text=True, stdout=subprocess.PIPE, env=os.environ
        ).stdout.split()

        assert {
            "bascule.errors",
            "bascule.platforms",
            "bascule.platforms.embedded",
            "bascule.platforms.embedded.glance",
            "bascule.platforms.embedded.places",
        } == set(loaded)
