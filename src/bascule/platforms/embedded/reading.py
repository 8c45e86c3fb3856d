"""
Reads: single objects at once, long lists page by page.

A single object takes microseconds, less than the way to a thread and back would. A page
may have to pass over a million finished jobs and is read in a thread. No read keeps
a transaction open between two pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from bascule.model import Event, Job, Ref, Target, key_for, parts_of
from bascule.platforms.embedded.faults import translated
from bascule.platforms.embedded.rows import JOB, TARGET, event_of, job_of, stem_of, target_of
from bascule.ports import Change, Selector

PAGE = 200
PAGE_BYTES = 4 << 20
CHANGES = 1000


class Condition(NamedTuple):
    """A part of a WHERE clause, and its parameters."""

    sql: str
    parameters: tuple[Any, ...]


class Page(NamedTuple):
    """Some rows of `JOB`, and whether no more follow."""

    rows: list[tuple[Any, ...]]
    is_last: bool


class Reader:
    """A connection that only reads."""

    def __init__(self, connection: sqlite3.Connection, database: Path) -> None:
        self._connection = connection
        self._database = database
        self._targets: dict[Ref, tuple[tuple[Any, ...], Target]] = {}

    def job(self, ref: Ref) -> Job | None:
        """Return the job as it is stored now."""
        rows = self._rows(f"SELECT {JOB} FROM jobs WHERE namespace = ? AND name = ?", ref)
        return job_of(rows[0]) if rows else None

    def bearer(self, key: str, installation: str) -> Job | None:
        """Return the job of which *key* is or was the key of an attempt."""
        parts = parts_of(key)
        if parts is None or parts.installation != installation:
            return None
        for row in self._rows(f"SELECT {JOB} FROM jobs WHERE stem = ?", (stem_of(key),)):
            job = job_of(row)
            own = key_for(job.name, installation=installation, uid=job.uid, attempt=parts.attempt)
            if key == own and parts.attempt <= job.status.attempt:
                return job
        return None

    def page(self, condition: Condition, after: int, limit: int) -> Page:
        """Return the rows of at most *limit* jobs, and of about `PAGE_BYTES`, that came after the row *after*."""
        rows: list[tuple[Any, ...]] = []
        size = 0
        with translated(self._database), closing(self._connection.cursor()) as cursor:
            cursor.execute(
                f"SELECT {JOB} FROM jobs WHERE {condition.sql} AND id > ? ORDER BY id LIMIT ?",
                (*condition.parameters, after, limit),
            )
            for row in cursor:
                rows.append(row)
                size += len(row[-2])
                if size > PAGE_BYTES:
                    return Page(rows, is_last=False)
        return Page(rows, is_last=len(rows) < limit)

    def target(self, ref: Ref) -> Target | None:
        """Return the target as it is stored now."""
        rows = self._rows(f"SELECT {TARGET} FROM targets WHERE namespace = ? AND name = ?", ref)
        if not rows:
            self._targets.pop(ref, None)
            return None
        row, target = self._targets.get(ref, ((), None))
        if target is None or row != rows[0]:
            # Decoded anew only when it was written: every pass over a job looks at its target.
            target = target_of(rows[0])
            self._targets[ref] = (rows[0], target)
        return target

    def targets(self) -> list[Target]:
        """Return all targets, oldest first; they are few."""
        return [target_of(row) for row in self._rows(f"SELECT {TARGET} FROM targets ORDER BY id")]

    def events(self, ref: Ref) -> Sequence[Event]:
        """Return what happened to a job, oldest first."""
        rows = self._rows(
            "SELECT last_at, reason, message, type, count FROM events"
            " WHERE job = (SELECT id FROM jobs WHERE namespace = ? AND name = ?) ORDER BY n",
            ref,
        )
        return [event_of(row) for row in rows]

    def meta(self) -> tuple[str, int, int, int | None]:
        """Return the installation, the epoch, the count of changes, and since when the truth is in doubt."""
        return self._rows("SELECT installation, epoch, seq, distrusts_before FROM meta")[0]

    def stamp(self) -> int:
        """Return a number that moves whenever another connection commits."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def changes(self, since: int) -> tuple[list[Change], int]:
        """Return at most `CHANGES` changes after *since*, oldest first, and up to where they reach."""
        rows = self._rows(
            "SELECT version, 'job', namespace, name FROM jobs WHERE version > ?"
            " UNION ALL SELECT version, 'target', namespace, name FROM targets WHERE version > ?"
            " UNION ALL SELECT version, kind, namespace, name FROM removed WHERE version > ?"
            " ORDER BY 1 LIMIT ?",
            (since, since, since, CHANGES),
        )
        changes = [Change(kind, Ref(namespace, name)) for _, kind, namespace, name in rows]
        return changes, int(rows[-1][0]) if rows else since

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        # All rows at once: a cursor that is left half-way keeps a transaction open.
        with translated(self._database):
            return self._connection.execute(sql, parameters).fetchall()


def condition_of(selector: Selector) -> Condition:
    """Return *selector* in SQL."""
    parts: list[str] = []
    parameters: list[Any] = []
    if selector.live is False:
        parts.append("live = 0")
    elif selector.live or (selector.phases and not any(phase.is_final for phase in selector.phases)):
        parts.append("live = 1")  # in these words, so that the partial index serves
    for column, value in (("namespace", selector.namespace), ("target", selector.target)):
        if value is not None:
            parts.append(f"{column} = ?")
            parameters.append(value)
    for column, values in (("name", selector.names), ("phase", selector.phases)):
        if values:
            parts.append(f"{column} IN ({', '.join('?' * len(values))})")
            parameters += [str(value) for value in values]
    for label in selector.labels.items():
        parts.append("EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ? AND value = ?)")
        parameters += label
    return Condition(" AND ".join(parts) or "1", tuple(parameters))
