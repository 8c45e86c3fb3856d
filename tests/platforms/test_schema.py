"""The schema: made once, brought up to date, refused where it is not ours."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from msgspec.structs import replace

from bascule.errors import Mistake
from bascule.model import Job, JobSpec, JobStatus, Run, TargetRef, TargetSpec, key_for
from bascule.platforms.embedded import open_store
from bascule.platforms.embedded.places import SCHEMA
from bascule.platforms.embedded.schema import MIGRATIONS, connect, migrate
from tests.platforms.embedded_world import EmbeddedWorld
from tests.platforms.process import process
from tests.virtual import FakeClock, VirtualLoop

JOB = Job("default", "old", "", JobSpec(target=TargetRef("local"), run=Run(script="#!/bin/sh\ntrue\n")))
LATER = ("CREATE TABLE notes (text TEXT);\nINSERT INTO notes VALUES ('one; two');\n",)


@pytest.fixture
def database(tmp_path):
    return tmp_path / "bascule.db"


@pytest.fixture
def connection(database):
    with closing(connect(database, synchronous="OFF", patience=1)) as connection:
        yield connection


def tables(connection):
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


class TestMigrations:
    """From an empty file to the present, each step once."""

    def test_a_quick_look_knows_the_same_schema(self):
        assert len(MIGRATIONS) == SCHEMA

    def test_a_new_database_is_filled_once(self, connection, database):
        filled = []

        for _ in range(2):
            migrate(connection, database, filled.append)

        assert [connection] == filled
        assert {"meta", "jobs", "targets"} <= tables(connection)

    def test_an_old_one_is_brought_up_to_date(self, connection, database):
        """
        Its content stays, and it is not filled anew.
        """
        migrate(connection, database, lambda new: new.execute("INSERT INTO meta VALUES (1, 'abc', 0, 0, NULL)"))
        filled = []

        migrate(connection, database, filled.append, MIGRATIONS + LATER)

        assert not filled
        assert [("abc",)] == connection.execute("SELECT installation FROM meta").fetchall()
        assert [("one; two",)] == connection.execute("SELECT text FROM notes").fetchall()
        assert [(len(MIGRATIONS) + 1,)] == connection.execute("PRAGMA user_version").fetchall()

    def test_a_step_that_fails_leaves_nothing(self, connection, database):
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, database, lambda new: None, (*MIGRATIONS, "CREATE TABLE jobs (id);\n"))

        assert not tables(connection)
        assert [(0,)] == connection.execute("PRAGMA user_version").fetchall()
        migrate(connection, database, lambda new: None)

    def test_full_durability_with_a_log(self, database):
        with closing(connect(database, synchronous="FULL", patience=1)) as connection:
            migrate(connection, database, lambda new: None)

            assert [("wal",)] == connection.execute("PRAGMA journal_mode").fetchall()
            assert [(2,)] == connection.execute("PRAGMA synchronous").fetchall()


class TestStrangers:
    """What is not ours is not touched."""

    loop_factory = VirtualLoop

    async def test_a_newer_schema_is_refused_with_a_hint(self, tmp_path):
        async with EmbeddedWorld(tmp_path):
            pass
        database = tmp_path / "home" / "bascule.db"
        with closing(sqlite3.connect(database)) as connection:
            connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")

        with pytest.raises(Mistake, match=f"newer Bascule .schema {SCHEMA + 1}") as caught:
            async with open_store(tmp_path / "home", FakeClock()):
                pass

        assert "another home" in caught.value.hint

    async def test_another_programs_database_is_refused(self, tmp_path):
        with closing(sqlite3.connect(tmp_path / "bascule.db")) as connection:
            connection.execute("CREATE TABLE jobs (id)")

        with pytest.raises(Mistake, match="something else"):
            async with open_store(tmp_path, FakeClock()):
                pass

        with closing(sqlite3.connect(tmp_path / "bascule.db")) as connection:
            assert {"jobs"} == tables(connection)


class TestOldHome:
    """What an earlier Bascule has left."""

    loop_factory = VirtualLoop

    async def test_one_from_before_stems_is_brought_up_to_date(self, tmp_path):
        """
        It was called a bug: it bears the number of those that came after, and has no such column.
        """
        async with open_store(tmp_path, FakeClock(), drive=True) as store:
            old = await store.create(JOB)
            old = await store.save(replace(old, status=JobStatus(attempt=1)))
        with closing(sqlite3.connect(tmp_path / "bascule.db", isolation_level=None)) as connection:
            connection.execute("DROP INDEX jobs_by_stem")
            connection.execute("ALTER TABLE jobs DROP COLUMN stem")
            connection.execute("ALTER TABLE jobs ADD COLUMN uid_part TEXT NOT NULL DEFAULT 'abcdefgh'")
            connection.execute("CREATE INDEX jobs_by_uid_part ON jobs (uid_part)")
            connection.execute("PRAGMA user_version = 1")

        async with open_store(tmp_path, FakeClock(), drive=True) as store:
            found = await store.bearer(key_for(old.name, installation=store.installation, uid=old.uid, attempt=1))
            await store.create(replace(JOB, name="new"))

        assert old == found


class TestNewHome:
    """What is there from the start."""

    loop_factory = VirtualLoop

    async def test_has_the_target_of_this_machine(self, tmp_path):
        async with open_store(tmp_path, FakeClock()) as store:
            [target] = [target async for target in store.targets()]

        assert ("default", "local", TargetSpec(manager="local")) == (target.namespace, target.name, target.spec)

    async def test_a_removed_target_stays_removed(self, tmp_path):
        async with open_store(tmp_path, FakeClock()) as store:
            [target] = [target async for target in store.targets()]
            await store.delete_target(target.ref)

        async with open_store(tmp_path, FakeClock()) as store:
            assert not [target async for target in store.targets()]

    async def test_each_is_an_installation_of_its_own(self, tmp_path):
        names = set()
        for home in ("a", "b", "a"):
            async with open_store(tmp_path / home, FakeClock()) as store:
                names.add(store.installation)

        assert 2 == len(names)

    async def test_only_its_owner_can_read_it(self, tmp_path):
        tmp_path.chmod(0o755)
        async with open_store(tmp_path, FakeClock(), drive=True):
            modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}

        assert {"bascule.db", "bascule.db-wal", "bascule.db-shm", "driver.lock", "witness"} <= modes.keys()
        assert {0o600} == set(modes.values())

    def test_many_who_open_it_at_once_make_one(self, tmp_path):
        opens = """
async def main():
    async with open_store(home, clock) as store:
        say(store.installation, len([target async for target in store.targets()]))

sys.stdin.read(1)
asyncio.run(main())
"""
        home = tmp_path / "home"
        with (
            process(home, opens) as one,
            process(home, opens) as two,
            process(home, opens) as three,
            process(home, opens) as four,
        ):
            running = [one, two, three, four]
            for each in running:
                each.stdin.close()

            said = {each.stdout.read() for each in running}

        assert 1 == len(said)
        assert said.pop().endswith(" 1\n")
