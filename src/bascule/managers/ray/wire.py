"""What Ray's Jobs API says, as it says it; whatever else is in an answer is left alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec


class Version(msgspec.Struct):
    """The answer to ``/api/version``: *session_name* names this run of the head."""

    ray_version: str
    session_name: str


class Submitted(msgspec.Struct):
    """The answer to a submit."""

    submission_id: str


class Stopped(msgspec.Struct):
    """The answer to a stop: False where there was nothing to be stopped."""

    stopped: bool


class Log(msgspec.Struct):
    """All that a job has written."""

    logs: str


class Details(msgspec.Struct):
    """One job. Times are in milliseconds; *start_time* is that of the submit."""

    status: str
    type: str = "SUBMISSION"
    submission_id: str | None = None
    entrypoint: str = ""
    message: str | None = None
    error_type: str | None = None
    start_time: float | None = None
    end_time: float | None = None
    metadata: dict[str, Any] | None = None
    driver_agent_http_address: str | None = None
    driver_exit_code: int | None = None

    def belongs_to(self, key: str) -> bool:
        """Tell whether this is the job of *key*, and not one that somebody else gave our id."""
        return not key or (self.metadata or {}).get(KEY) == key


KEY = "bascule.dev/key"
"""The entry of a job's metadata that holds its key."""


class Listed(NamedTuple):
    """Jobs by their ids; *is_whole*: what is not among them is not there."""

    jobs: dict[str, Details]
    is_whole: bool


def jobs_in(body: bytes) -> Listed:
    """
    Read a list of jobs; rows of drivers that nobody submitted are left out.

    Raises `msgspec.DecodeError` where it is no list. A row that cannot be read is left out too, as it would
    hide all others; the list is then not whole.
    """
    is_whole = True
    try:
        rows = msgspec.json.decode(body, type=list[Details])
    except msgspec.ValidationError:
        read = [_row(raw) for raw in msgspec.json.decode(body, type=list[msgspec.Raw])]
        rows = [row for row in read if row is not None]
        is_whole = len(rows) == len(read)
    return Listed({row.submission_id: row for row in rows if row.submission_id and row.type == "SUBMISSION"}, is_whole)


def _row(raw: msgspec.Raw) -> Details | None:
    try:
        return msgspec.json.decode(raw, type=Details)
    except msgspec.ValidationError:
        return None
