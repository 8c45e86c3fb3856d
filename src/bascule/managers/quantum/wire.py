"""
What the service sends, as far as it is used; everything else in it is ignored.

Names and forms differ between versions of the API: what may be missing has a default.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec


class State(msgspec.Struct):
    """A job's state: a word, and why."""

    status: str = ""
    reason: str | None = None
    reason_code: int | str | None = None
    reasonCode: int | str | None = None  # noqa: N815 - older versions spell it so
    reason_solution: str | None = None


class Usage(msgspec.Struct):
    """Seconds that were computed for a job."""

    quantum_seconds: float | None = None
    seconds: float | None = None


class JobRecord(msgspec.Struct):
    """A job, as the service has it."""

    id: str
    backend: str | None = None
    state: State | None = None
    status: str | None = None
    created: str | None = None
    ended: str | None = None
    tags: list[str] = []
    session_id: str | None = None
    usage: Usage | None = None

    @property
    def word(self) -> str:
        """The service's own word for its state."""
        return (self.state.status if self.state else "") or self.status or ""

    @property
    def code(self) -> int | None:
        """The number of the reason."""
        code = (self.state.reason_code or self.state.reasonCode) if self.state else None
        return int(code) if code is not None and str(code).isdecimal() else None


class JobList(msgspec.Struct):
    """A page of jobs, and how many there are."""

    jobs: list[JobRecord]
    count: int | None = None


class Taken(msgspec.Struct):
    """The answer to a submit."""

    id: str = ""
    backend: str | None = None
    session_id: str | None = None


class Timestamps(msgspec.Struct):
    """When a job came, ran and ended."""

    created: str | None = None
    running: str | None = None
    finished: str | None = None


class Metrics(msgspec.Struct):
    """What was measured of a job."""

    timestamps: Timestamps | None = None
    usage: Usage | None = None
    position_in_queue: int | None = None
    estimated_start_time: str | None = None


class BackendStatus(msgspec.Struct):
    """How a backend is, within the list."""

    name: str | None = None
    reason: str | None = None


class Backend(msgspec.Struct):
    """One of the backends."""

    name: str
    status: BackendStatus | None = None
    queue_length: int | None = None
    qubits: int | None = None
    is_simulator: bool = False

    @property
    def is_online(self) -> bool:
        """Tell whether it takes jobs."""
        return self.status is None or (self.status.name or "online").lower() == "online"


class Backends(msgspec.Struct):
    """All backends; older versions give names alone."""

    devices: list[Backend | str]

    @property
    def all(self) -> list[Backend]:
        """Each with what is known of it."""
        return [Backend(each) if isinstance(each, str) else each for each in self.devices]


class Configuration(msgspec.Struct):
    """What circuits for a backend must keep to."""

    backend_name: str = ""
    n_qubits: int | None = None
    basis_gates: list[str] = []
    supported_instructions: list[str] | None = None
    coupling_map: list[tuple[int, int]] | None = None
    max_shots: int | None = None


class SessionRecord(msgspec.Struct):
    """A session."""

    id: str = ""
    state: str | None = None
    accepting_jobs: bool | None = None

    @property
    def takes_jobs(self) -> bool:
        """Tell whether a job may still join it."""
        return self.accepting_jobs is not False and (self.state or "").lower() != "closed"


class InstanceUsage(msgspec.Struct):
    """How much of an instance's time is used up."""

    usage_consumed_seconds: float | None = None
    usage_limit_seconds: float | None = None
    usage_limit_reached: bool = False


class Fault(msgspec.Struct):
    """One error, as the service tells it."""

    message: str = ""
    code: int | str | None = None
    solution: str | None = None


class Faults(msgspec.Struct):
    """What stands in an answer that is a refusal: one error or several."""

    errors: list[Fault] | None = None
    error: Fault | str | None = None
    message: str | None = None

    @property
    def all(self) -> list[Fault]:
        """Each error."""
        if self.errors:
            return self.errors
        if isinstance(self.error, Fault):
            return [self.error]
        text = self.error or self.message
        return [Fault(text)] if text else []


def moment(text: str | None) -> datetime | None:
    """Read a time; one without a zone is UTC."""
    if not text:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


Json = dict[str, Any]
