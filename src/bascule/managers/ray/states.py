"""
Ray's words for how a job stands, in ours.

Ray does not say when a job began to run: `start_time` is the time of its submit, from which a
walltime must not be counted. So a report has no start, and the core takes its own first sight of it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from bascule.managers.ray.head import last_words
from bascule.managers.ray.wire import Details
from bascule.model import Phase, Reason, Report

LONGEST = 500
_PLAIN = {
    "PENDING": Phase.QUEUED,
    "RUNNING": Phase.RUNNING,
    "SUCCEEDED": Phase.SUCCEEDED,
    "STOPPED": Phase.CANCELLED,
}
_EXIT = re.compile(r"exit code (-?\d+)")
_MEMORY = re.compile(r"out of memory|OutOfMemory|\bOOM\b", re.IGNORECASE)
_NOT_STARTED = {
    "RUNTIME_ENV_SETUP_FAILURE": "its runtime environment could not be set up",
    "JOB_SUPERVISOR_ACTOR_START_TIMEOUT": "Ray had no place for it for as long as it lets a job wait",
    "JOB_SUPERVISOR_ACTOR_START_FAILURE": "Ray could not start it",
    "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE": "Ray has no place for it",
    "JOB_ENTRYPOINT_COMMAND_START_ERROR": "its command could not be started",
}
_NODE_LOST = {
    "JOB_SUPERVISOR_ACTOR_DIED": "what looked after it on its node died",
    "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE": "Ray lost it",
}
# Heads before 2.40 or so tell no type: these begin their messages.
_BEGINNINGS = {
    "runtime_env setup failed": "RUNTIME_ENV_SETUP_FAILURE",
    "Job supervisor actor failed to start within": "JOB_SUPERVISOR_ACTOR_START_TIMEOUT",
    "Job supervisor actor could not be scheduled": "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE",
    "Job supervisor actor died": "JOB_SUPERVISOR_ACTOR_DIED",
    "Failed to start": "JOB_SUPERVISOR_ACTOR_START_FAILURE",
    "Unexpected error occurred": "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE",
}
_STOP_ASKED = "Ray was asked to stop it, and keeps a job that waits until it has a place for it"


class _Failure(NamedTuple):
    reason: str
    words: str
    exit_code: int | None = None
    signal: int | None = None


def report_of(details: Details, *, stop_asked: bool = False) -> Report:
    """Return what *details* say; *stop_asked*: Ray said that it has stopped it."""
    failure = _failure(details) if details.status == "FAILED" else None
    phase = Phase.FAILED if failure else _PLAIN.get(details.status)
    words = failure.words if failure else (details.message or "").strip()[:LONGEST]
    if stop_asked and phase is Phase.QUEUED:
        words = _STOP_ASKED
    is_final = phase is not None and phase.is_final
    return Report(
        phase=phase,
        state=details.status,
        reason=failure.reason if failure else "",
        why=details.error_type or "",
        explanation=words,
        exit_code=failure.exit_code if failure else 0 if phase is Phase.SUCCEEDED else None,
        signal=failure.signal if failure else None,
        nodes=_node(details.driver_agent_http_address),
        submitted_at=_time(details.start_time),
        finished_at=_time(details.end_time) if is_final else None,
    )


def _failure(details: Details) -> _Failure:
    message = details.message or ""
    kind = details.error_type or next((kind for text, kind in _BEGINNINGS.items() if message.startswith(text)), "")
    code = details.driver_exit_code
    if code is None and kind in {"", "JOB_ENTRYPOINT_COMMAND_ERROR"} and (found := _EXIT.search(message[:LONGEST])):
        code = int(found[1])
    if code is not None and code < 0:
        return _Failure(Reason.SIGNAL, f"was ended by signal {-code}", signal=-code)
    if code:
        return _Failure(Reason.EXIT_CODE, f"ended with exit code {code}", exit_code=code)
    detail = last_words(message)[:LONGEST]
    if kind in _NOT_STARTED:
        return _Failure(Reason.START_FAILED, f"{_NOT_STARTED[kind]}: {detail}")
    if _MEMORY.search(message):
        return _Failure(Reason.OUT_OF_MEMORY, f"ran out of memory: {detail}")
    return _Failure(Reason.NODE_FAILED, f"{_NODE_LOST.get(kind, 'Ray says that it failed')}: {detail}")


def _node(address: str | None) -> tuple[str, ...]:
    host = urlsplit(address).hostname if address else None
    return (host,) if host else ()


def _time(milliseconds: float | None) -> datetime | None:
    if not milliseconds or not 0 < milliseconds < 1e14:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
