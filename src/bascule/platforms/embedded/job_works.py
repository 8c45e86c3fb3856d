"""
What is written about jobs, as works for the `Writer`; each checks before it changes anything.

People's wishes come first, then the driver's news.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from bascule.errors import Conflict
from bascule.model import Event, Job, JobStatus, Ref, key_for
from bascule.platforms.embedded.rows import JOB, job_of, stem_of, text_of, ticks_of, version_of
from bascule.platforms.embedded.writing import Transaction, Work

MOST_EVENTS = 200
"""How many events are kept of a job: the last ones."""

MOST_REMOVED = 100_000
"""For how many changes it is remembered that something was removed, for those who watch."""


def create(job: Job, *, uid: str, now: datetime) -> Work[Job]:
    """Accept *job* as a new one."""
    new = msgspec.structs.replace(job, uid=uid, status=JobStatus(), generation=1, created_at=now, deleted_at=None)
    spec, columns = text_of(job.spec), _columns_of_spec(job)
    status = _columns_of_status(new.status)
    stem = stem_of(key_for(job.name, installation="any", uid=uid, attempt=1))

    def work(transaction: Transaction) -> Job:
        taken = transaction.execute("SELECT 1 FROM jobs WHERE namespace = ? AND name = ?", new.ref).fetchall()
        if taken:
            raise Conflict(f"there is a job `{new.ref}` already", hint="choose another name, or delete that one first")
        version = transaction.next_version()
        transaction.execute(
            "INSERT INTO jobs (id, version, namespace, name, uid, stem, generation, live, created_at,"
            f" {_SPEC_COLUMNS}, {_STATUS_COLUMNS}) VALUES ({', '.join('?' * (9 + len(columns) + len(status)))})",
            (version, version, new.namespace, new.name, uid, stem, 1, True, ticks_of(now), *columns, *status),
        )
        transaction.execute("INSERT INTO specs (job, spec) VALUES (?, ?)", (version, spec))
        return msgspec.structs.replace(new, version=str(version))

    return work


def change(job: Job) -> Work[Job]:
    """Store *job*'s spec, labels and annotations."""
    spec, columns = text_of(job.spec), _columns_of_spec(job)

    def work(transaction: Transaction) -> Job:
        stored, key = _stored(transaction, job)
        if (stored.spec, stored.labels, stored.annotations) == (job.spec, job.labels, job.annotations):
            return stored
        generation = stored.generation + (stored.spec != job.spec)
        version = transaction.next_version()
        live = msgspec.structs.replace(stored, spec=job.spec).is_live
        transaction.execute(
            f"UPDATE jobs SET version = ?, generation = ?, live = ?, {_set(_SPEC_COLUMNS)} WHERE id = ?",
            (version, generation, live, *columns, key),
        )
        transaction.execute("UPDATE specs SET spec = ? WHERE job = ?", (spec, key))
        return msgspec.structs.replace(
            stored,
            version=str(version),
            generation=generation,
            spec=job.spec,
            labels=job.labels,
            annotations=job.annotations,
        )

    return work


def delete(ref: Ref, *, now: datetime) -> Work[Job | None]:
    """Ask for a job's end."""

    def work(transaction: Transaction) -> Job | None:
        rows = transaction.execute(f"SELECT {JOB} FROM jobs WHERE namespace = ? AND name = ?", ref).fetchall()
        if not rows:
            return None
        stored = job_of(rows[0])
        if stored.deleted_at is not None:
            return stored
        version = transaction.next_version()
        transaction.execute(
            "UPDATE jobs SET version = ?, live = 1, deleted_at = ? WHERE id = ?",
            (version, ticks_of(now), rows[0][-1]),
        )
        return msgspec.structs.replace(stored, version=str(version), deleted_at=now)

    return work


def save(job: Job, events: Sequence[Event], *, epoch: int) -> Work[Job]:
    """Store *job*'s status, and what happened."""
    columns = _columns_of_status(job.status)
    live = job.is_live

    def work(transaction: Transaction) -> Job:
        transaction.require(epoch)
        key = _key(transaction, job)
        version = transaction.next_version()
        transaction.execute(
            f"UPDATE jobs SET version = ?, live = ?, {_set(_STATUS_COLUMNS)} WHERE id = ?",
            (version, live, *columns, key),
        )
        if events:
            _record(transaction, key, events)
        return msgspec.structs.replace(job, version=str(version))

    return work


def remove(job: Job, *, epoch: int) -> Work[None]:
    """Let *job* go, with all that is kept of it."""

    def work(transaction: Transaction) -> None:
        transaction.require(epoch)
        key = _key(transaction, job)
        transaction.execute("DELETE FROM jobs WHERE id = ?", (key,))
        transaction.execute("DELETE FROM specs WHERE job = ?", (key,))
        transaction.execute("DELETE FROM events WHERE job = ?", (key,))
        tell_removed(transaction, "job", job.ref)

    return work


def tell_removed(transaction: Transaction, kind: str, ref: Ref) -> None:
    """Remember for a while that something was removed, for those who watch."""
    version = transaction.next_version()
    transaction.execute(
        "INSERT INTO removed (version, kind, namespace, name) VALUES (?, ?, ?, ?)", (version, kind, *ref)
    )
    transaction.execute("DELETE FROM removed WHERE version < ?", (version - MOST_REMOVED,))


def _key(transaction: Transaction, job: Job) -> int:
    """Return the row of *job* as it was read; raise `Conflict` where it has moved on."""
    rows = transaction.execute(
        "SELECT id FROM jobs WHERE namespace = ? AND name = ? AND version = ?", (*job.ref, version_of(job.version))
    ).fetchall()
    if not rows:
        raise Conflict(f"job `{job.ref}` was changed by somebody else, or is gone", hint="read it again")
    return int(rows[0][0])


def _stored(transaction: Transaction, job: Job) -> tuple[Job, int]:
    key = _key(transaction, job)
    row = transaction.execute(f"SELECT {JOB} FROM jobs WHERE id = ?", (key,)).fetchall()[0]
    return job_of(row), key


def _record(transaction: Transaction, key: int, events: Sequence[Event]) -> None:
    """Append *events*; the same thing over and over is one event with a count."""
    last = transaction.execute(
        "SELECT n, type, reason, message FROM events WHERE job = ? ORDER BY n DESC LIMIT 1", (key,)
    ).fetchall()
    n, *before = last[0] if last else (0, "", "", "")
    for event in events:
        what = [event.type, event.reason, event.message]
        at = ticks_of(event.at)
        if what == before:
            transaction.execute(
                "UPDATE events SET count = count + 1, last_at = ? WHERE job = ? AND n = ?", (at, key, n)
            )
            continue
        n, before = n + 1, what
        transaction.execute(
            "INSERT INTO events (job, n, first_at, last_at, count, type, reason, message)"
            " VALUES (?, ?, ?, ?, 1, ?, ?, ?)",
            (key, n, at, at, *what),
        )
    if n > MOST_EVENTS:
        transaction.execute("DELETE FROM events WHERE job = ? AND n <= ?", (key, n - MOST_EVENTS))


_SPEC_COLUMNS = "target_namespace, target, labels, annotations"
_STATUS_COLUMNS = "phase, reason, outside_id, attempt, exit_code, started_at, finished_at, message, status"


def _columns_of_spec(job: Job) -> tuple[Any, ...]:
    """Return what `_SPEC_COLUMNS` hold."""
    return (*job.target_ref, text_of(job.labels), text_of(job.annotations))


def _columns_of_status(status: JobStatus) -> tuple[Any, ...]:
    """Return what `_STATUS_COLUMNS` hold."""
    return (
        status.phase.value,
        str(status.reason),
        status.id,
        status.attempt,
        status.exit_code,
        ticks_of(status.started_at),
        ticks_of(status.finished_at),
        status.message,
        text_of(status),
    )


def _set(columns: str) -> str:
    """Return the assignments of an UPDATE for *columns*."""
    return ", ".join(f"{column} = ?" for column in columns.split(", "))
