"""Rows of the database to nouns, and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from bascule.errors import Mistake, StoreFailed
from bascule.model import (
    Event,
    Job,
    JobSpec,
    JobStatus,
    Ref,
    Target,
    TargetSpec,
    TargetStatus,
    from_json,
    to_json,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)

JOB = (
    "namespace, name, uid, version, generation, created_at, deleted_at, labels, annotations, status, "
    "(SELECT spec FROM specs WHERE job = jobs.id), id"
)
TARGET = "namespace, name, uid, version, generation, created_at, labels, annotations, spec, status, id"


def job_of(row: tuple[Any, ...]) -> Job:
    """Return the job whose columns `JOB` are in *row*."""
    namespace, name, uid, version, generation, created, deleted, labels, annotations, status, spec, _ = row
    try:
        return Job(
            namespace=namespace,
            name=name,
            uid=uid,
            spec=from_json(spec or "", JobSpec),
            status=from_json(status, JobStatus),
            version=str(version),
            generation=generation,
            created_at=time_of(created),
            deleted_at=time_of(deleted),
            labels=from_json(labels, dict[str, str]),
            annotations=from_json(annotations, dict[str, str]),
        )
    except (msgspec.MsgspecError, Mistake) as fault:
        raise _unreadable("job", Ref(namespace, name)) from fault


def target_of(row: tuple[Any, ...]) -> Target:
    """Return the target whose columns `TARGET` are in *row*."""
    namespace, name, uid, version, generation, created, labels, annotations, spec, status, _ = row
    try:
        return Target(
            namespace=namespace,
            name=name,
            uid=uid,
            spec=from_json(spec, TargetSpec),
            status=from_json(status, TargetStatus),
            version=str(version),
            generation=generation,
            created_at=time_of(created),
            labels=from_json(labels, dict[str, str]),
            annotations=from_json(annotations, dict[str, str]),
        )
    except (msgspec.MsgspecError, Mistake) as fault:
        raise _unreadable("target", Ref(namespace, name)) from fault


def event_of(row: tuple[Any, ...]) -> Event:
    """Return the event whose last time, reason, message, type and count are in *row*."""
    at, reason, message, kind, count = row
    return Event(at=EPOCH + at * _TICK, reason=reason, message=message, type=kind, count=count)


def ticks_of(time: datetime | None) -> int | None:
    """Return *time* as it is stored."""
    return None if time is None else (time - EPOCH) // _TICK


def time_of(ticks: int | None) -> datetime | None:
    """Return the time that is stored as *ticks*."""
    return None if ticks is None else EPOCH + ticks * _TICK


def text_of(value: object) -> str:
    """Return *value* as JSON text, which SQLite's own functions read too."""
    return to_json(value).decode()


def stem_of(key: str) -> str:
    """Return what all keys of a job have in common, by which a key's job is found."""
    name, _installation, uid_part, _attempt = key.rsplit("-", 3)
    return f"{name}-{uid_part}"


def version_of(version: str) -> int:
    """Return an object's version as it is stored; one that was never given fits nothing."""
    return int(version) if version.isascii() and version.isdigit() and len(version) < 19 else -1


def _unreadable(kind: str, ref: Ref) -> StoreFailed:
    return StoreFailed(
        f"{kind} `{ref}` is stored in a form that cannot be read",
        hint="was it written by a newer version, or by hand? `PRAGMA integrity_check` tells whether the file is damaged",
    )
