"""Open a home: the folder, the schema, whether the database is the one that was here, then the store."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from datetime import datetime
from pathlib import Path

from bascule.errors import StoreFailed, Unavailable
from bascule.model import Target, TargetSpec, installation_from
from bascule.platforms.embedded import target_works
from bascule.platforms.embedded.driving import DriverLock, one_at_a_time
from bascule.platforms.embedded.faults import translated
from bascule.platforms.embedded.home import Home, default_home, prepare_home
from bascule.platforms.embedded.rows import ticks_of
from bascule.platforms.embedded.schema import connect, is_current, migrate
from bascule.platforms.embedded.settings import Settings
from bascule.platforms.embedded.store import Store
from bascule.platforms.embedded.witness import Witness
from bascule.platforms.embedded.writing import Transaction
from bascule.ports import Clock

AS_PEOPLE_NEED_IT = Settings()


@asynccontextmanager
async def open_store(
    path: Path | None, clock: Clock, *, drive: bool = False, settings: Settings = AS_PEOPLE_NEED_IT
) -> AsyncIterator[Store]:
    """
    Open the home at *path* (None: the user's own), made where there is none, and close it at the end.

    With *drive*, lead it; raise `Unavailable` where another process does.
    """
    home = prepare_home(path or default_home(), settings.mounts)
    with translated(home.database):
        _prepare_database(home, clock.now(), settings)
        store = Store(home, clock, settings)
    try:
        if drive and not await store.lead():
            raise Unavailable(
                f"home `{home}` is driven by {store.driver() or 'another process'} already",
                hint="it moves all jobs of this home; `bascule wait` and `bascule logs` work beside it",
            )
        yield store
    finally:
        await store.aclose()


def _prepare_database(home: Home, now: datetime, settings: Settings) -> None:
    """Make the database or bring it up to date, and see whether it is older than the truth."""
    _make_private(home.database)
    connection = connect(home.database, synchronous=settings.synchronous, patience=settings.patience)
    with closing(connection):
        if not is_current(connection):
            with one_at_a_time(home.path / "opening.lock"):
                migrate(connection, home.database, lambda new: _fill(new, home, now, settings))
        _distrust_a_copy(connection, home, now)


def _make_private(database: Path) -> None:
    """Make the file before SQLite does, which would let others read it; its companions take over the mode."""
    # Never opened where it is there: closing it again would drop the locks that SQLite holds for this
    # process, see https://sqlite.org/howtocorrupt.html, 2.2.
    with suppress(FileExistsError):
        database.touch(mode=0o600, exist_ok=False)


def _fill(connection: sqlite3.Connection, home: Home, now: datetime, settings: Settings) -> None:
    """Give a new database its name, and the target that every machine has."""
    if home.witness.exists():
        raise StoreFailed(
            f"the database `{home.database}` is gone, and what it knew of jobs with it",
            hint=f"restore it from a backup; to begin anew and forget all jobs, remove `{home.witness}`",
        )
    connection.execute(
        "INSERT INTO meta (one, installation, epoch, seq) VALUES (1, ?, 0, 0)",
        (installation_from(settings.fresh_id()),),
    )
    transaction = Transaction(connection)
    local = Target(namespace="default", name="local", uid="", spec=TargetSpec(manager="local"))
    target_works.put(local, uid=settings.fresh_id(), now=now)(transaction)
    connection.execute("UPDATE meta SET seq = ?", (transaction.seq,))


def _distrust_a_copy(connection: sqlite3.Connection, home: Home, now: datetime) -> None:
    """Remember durably where the database is a copy from a backup; see `witness`."""
    if _truth_behind(connection, home) is None:
        return
    connection.execute("BEGIN IMMEDIATE")
    # Looked at again, now that nobody writes: the first look may have fallen between two writes of a driver.
    true = _truth_behind(connection, home)
    if true is not None:
        # By the clock that made them, which may have been set back since, jobs of the copy may be newer than now.
        newest = connection.execute("SELECT max(created_at) FROM jobs").fetchone()[0] or 0
        before = max(ticks_of(now) or 0, newest + 1)
        connection.execute("UPDATE meta SET epoch = ?, seq = ?, distrusts_before = ?", (*true, before))
    connection.execute("COMMIT")
    if true is not None:
        true.write(home.witness, durably=True)


def _truth_behind(connection: sqlite3.Connection, home: Home) -> Witness | None:
    """Return how far the database must be set, so that no version means two things; None where it is the true one."""
    if DriverLock(home.lock).holder() is not None:
        return None  # whoever drives has looked, and is writing both
    # In this order: a driver writes the database first, then the witness.
    witness = Witness.read(home.witness)
    epoch, seq = connection.execute("SELECT epoch, seq FROM meta").fetchall()[0]
    present = Witness(epoch, seq)
    if witness is None:
        return present if epoch else None  # never driven: there never was a witness
    if not witness.is_ahead_of(present):
        return None
    return Witness(max(epoch, witness.epoch), max(seq, witness.seq))
