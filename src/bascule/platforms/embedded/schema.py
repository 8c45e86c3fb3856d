"""
The tables, how they came to be, and how they are opened.

``meta.seq`` counts all changes. An object's *version* is the count at its last write, so
it also says what changed since when; ``jobs.id`` is the count at its first, so it orders
by age. Specs lie apart from jobs, so that neither a status write nor a table for people
has to carry a script of a megabyte along. ``jobs.stem`` is what the keys of a job begin with
and end in; it begins with the name, since an index on something random costs another page
for each job.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from bascule.errors import Mistake
from bascule.model import key_for
from bascule.platforms.embedded.places import SCHEMA, newer
from bascule.platforms.embedded.rows import stem_of

APPLICATION = 0x42534355  # "BSCU": what `file` and others may know the database by

_FIRST = """
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    installation TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    distrusts_before INTEGER
);
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    uid TEXT NOT NULL,
    stem TEXT NOT NULL,
    version INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    live INTEGER NOT NULL,
    target_namespace TEXT NOT NULL,
    target TEXT NOT NULL,
    phase TEXT NOT NULL,
    reason TEXT NOT NULL,
    outside_id TEXT,
    attempt INTEGER NOT NULL,
    exit_code INTEGER,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    deleted_at INTEGER,
    message TEXT NOT NULL,
    labels TEXT NOT NULL,
    annotations TEXT NOT NULL,
    status TEXT NOT NULL,
    UNIQUE (name, namespace)
);
CREATE UNIQUE INDEX jobs_by_version ON jobs (version);
CREATE INDEX jobs_by_stem ON jobs (stem);
CREATE INDEX jobs_live ON jobs (id) WHERE live = 1;
CREATE TABLE specs (
    job INTEGER PRIMARY KEY,
    spec TEXT NOT NULL
);
CREATE TABLE events (
    job INTEGER NOT NULL,
    n INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    count INTEGER NOT NULL,
    type TEXT NOT NULL,
    reason TEXT NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (job, n)
) WITHOUT ROWID;
CREATE TABLE targets (
    id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    uid TEXT NOT NULL,
    version INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    labels TEXT NOT NULL,
    annotations TEXT NOT NULL,
    spec TEXT NOT NULL,
    status TEXT NOT NULL,
    UNIQUE (namespace, name)
);
CREATE UNIQUE INDEX targets_by_version ON targets (version);
CREATE TABLE removed (
    version INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL
);
"""


def _with_stems(connection: sqlite3.Connection) -> None:
    """Give the jobs of a home that is older than ``stem``, under the same number, their stems."""
    if "stem" in {column for _, column, *_ in connection.execute("PRAGMA table_info(jobs)")}:
        return
    connection.execute("DROP INDEX jobs_by_uid_part")
    connection.execute("ALTER TABLE jobs DROP COLUMN uid_part")
    connection.execute("ALTER TABLE jobs ADD COLUMN stem TEXT NOT NULL DEFAULT ''")
    for number, name, uid in connection.execute("SELECT id, name, uid FROM jobs").fetchall():
        stem = stem_of(key_for(name, installation="any", uid=uid, attempt=1))
        connection.execute("UPDATE jobs SET stem = ? WHERE id = ?", (stem, number))
    connection.execute("CREATE INDEX jobs_by_stem ON jobs (stem)")


Step = str | Callable[[sqlite3.Connection], None]
MIGRATIONS: tuple[Step, ...] = (_FIRST, _with_stems)
"""The steps from an empty file to the present schema; a step is never changed once a home was made by it."""


def connect(
    database: Path,
    *,
    synchronous: Literal["FULL", "OFF"],
    patience: float,
    of_one_thread: bool = True,
) -> sqlite3.Connection:
    """Open *database* in autocommit mode; waits up to *patience* seconds where another process writes."""
    connection = sqlite3.connect(
        database, timeout=patience, isolation_level=None, check_same_thread=of_one_thread, cached_statements=256
    )
    try:
        connection.execute(f"PRAGMA synchronous = {synchronous}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def is_current(connection: sqlite3.Connection) -> bool:
    """Tell whether there is nothing to do for `migrate`."""
    return bool(connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA)


def migrate(
    connection: sqlite3.Connection,
    database: Path,
    first: Callable[[sqlite3.Connection], None],
    steps: tuple[Step, ...] = MIGRATIONS,
) -> None:
    """Bring the schema up to date in one transaction; *first* fills a new database."""
    # Not within a transaction; SQLite keeps the mode in the file.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been here first.
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        _refuse_strangers(connection, database, version, len(steps))
        for step in steps[version:]:
            if isinstance(step, str):
                for statement in filter(str.strip, step.split(";\n")):
                    connection.execute(statement)
            else:
                step(connection)
        if version == 0:
            first(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _refuse_strangers(connection: sqlite3.Connection, database: Path, version: int, known: int) -> None:
    """Raise `Mistake` where the file is of a newer Bascule, or of something else."""
    if version > known:
        message, hint = newer(str(database), version)
        raise Mistake(message, hint=hint)
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_master").fetchall():
        raise Mistake(f"`{database}` is a database of something else", hint="choose another home with `--home`")
