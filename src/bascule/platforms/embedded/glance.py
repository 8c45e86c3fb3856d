"""
A quick look at the jobs of a home, for tables: nothing is driven, written or decoded.

Reads the columns that people see, straight from the file, also while a driver is at work.
Imports little, for the reason that ``places`` gives; the store is the way for all else.
"""
# ruff: noqa: PTH110, PTH118, PTH120 - as in `places`

from __future__ import annotations

import os
import sqlite3
from collections import namedtuple

from bascule.errors import Mistake
from bascule.platforms.embedded.places import DATABASE, SCHEMA, default_folder, newer

TYPE_CHECKING = False  # `typing` takes half as long to import as Python to start
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CHUNK = 1000

Line = namedtuple(  # noqa: PYI024 - as above
    "Line",
    "name namespace phase reason id target attempt exit_code created started finished deleted message labels "
    "total done failed row",
)
"""
One job. Times are seconds since 1970, None where it has not come so far; *labels* is JSON
text; *total*, *done* and *failed* count the tasks of an array, where they were asked for;
*row* orders by age.
"""

_COLUMNS = """
name, namespace, phase, reason, outside_id, target, attempt, exit_code,
created_at / 1e6, started_at / 1e6, finished_at / 1e6, deleted_at / 1e6, message, labels
"""
_NO_TASKS = "0, 0, 0"
_TASKS = """
ifnull(status ->> '$.tasks.total', 0),
ifnull(status ->> '$.tasks.succeeded', 0) + ifnull(status ->> '$.tasks.failed', 0)
    + ifnull(status ->> '$.tasks.cancelled', 0),
ifnull(status ->> '$.tasks.failed', 0)
"""


def glance(
    home: str | os.PathLike[str] | None = None,
    *,
    namespace: str | None = None,
    names: Sequence[str] = (),
    phases: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    tasks: bool = False,
) -> Iterator[Line]:
    """Iterate over the jobs of *home* that fit, oldest first, in bounded memory; a home that is not there has none."""
    database = os.path.join(default_folder() if home is None else os.fspath(home), DATABASE)
    if not os.path.exists(database):
        return
    where, parameters = _condition(namespace, names, phases, labels or {})
    columns = f"{_COLUMNS}, {_TASKS if tasks else _NO_TASKS}, id"
    sql = f"SELECT {columns} FROM jobs WHERE {where} AND id > ? ORDER BY id LIMIT {CHUNK}"
    connection = None
    try:
        connection = _open(database)
        last = 0
        while connection is not None:
            rows = connection.execute(sql, (*parameters, last)).fetchall()
            yield from map(Line._make, rows)
            if len(rows) < CHUNK:
                return
            last = rows[-1][-1]
    except sqlite3.Error as fault:
        _explain(fault, database)
        raise
    finally:
        if connection is not None:
            connection.close()


def _open(database: str) -> sqlite3.Connection | None:
    """Open *database* for reading; None where nothing was ever stored in it."""
    try:
        connection, schema = _connect(database, "mode=ro")
    except sqlite3.OperationalError:
        # Readers, too, need an index beside the log and cannot make it on a read-only disk. Where there
        # is no log nothing else is written either, and none is needed.
        if os.path.exists(f"{database}-wal") or os.access(os.path.dirname(database), os.W_OK):
            raise
        connection, schema = _connect(database, "immutable=1")
    if schema == 0 or schema > SCHEMA:
        connection.close()
    if schema > SCHEMA:
        message, hint = newer(database, schema)
        raise Mistake(message, hint=hint)
    return connection if schema else None


def _connect(database: str, how: str) -> tuple[sqlite3.Connection, int]:
    """Return a connection, and the version of the schema; raise where nothing can be read."""
    path = database.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{path}?{how}", uri=True, isolation_level=None, timeout=5)
    try:
        return connection, connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error:
        connection.close()
        raise


def _condition(
    namespace: str | None, names: Sequence[str], phases: Sequence[str], labels: Mapping[str, str]
) -> tuple[str, list[object]]:
    """Return a WHERE clause, and its parameters."""
    parts = ["1"]
    parameters: list[object] = []
    if namespace is not None:
        parts.append("namespace = ?")
        parameters.append(namespace)
    for column, values in (("name", names), ("phase", phases)):
        if values:
            parts.append(f"{column} IN ({', '.join('?' * len(values))})")
            parameters += map(str, values)
    for label in labels.items():
        parts.append("EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ? AND value = ?)")
        parameters += label
    return " AND ".join(parts), parameters


def _explain(fault: sqlite3.Error, database: str) -> None:
    """Raise what *fault* means for a person, where that is known."""
    from pathlib import Path

    from bascule.platforms.embedded.faults import meaning_of

    meaning = meaning_of(fault, Path(database))
    if meaning is not None:
        raise meaning from fault
