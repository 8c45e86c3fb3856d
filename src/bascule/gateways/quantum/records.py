"""The nouns of the service: its jobs and sessions, as it remembers and shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

QUEUED, RUNNING, COMPLETED, FAILED, CANCELLED = "Queued", "Running", "Completed", "Failed", "Cancelled"
PENDING = frozenset({QUEUED, RUNNING})


def written(seconds: float | None) -> str | None:
    """Write a time as the service does."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


@dataclass(slots=True, eq=False)
class Session:
    """Some jobs that belong together; *accepts* more until it is closed."""

    id: str
    backend: str
    mode: str
    created: float
    max_ttl: int
    accepts: bool = True
    closed: float | None = None

    def shown(self) -> dict[str, object]:
        """As a client sees it."""
        state = "closed" if self.closed is not None else "open" if self.accepts else "draining"
        return {
            "id": self.id,
            "backend_name": self.backend,
            "mode": self.mode,
            "state": state,
            "accepting_jobs": self.accepts,
            "created_at": written(self.created),
            "closed_at": written(self.closed),
            "max_ttl": self.max_ttl,
            "interactive_ttl": 60,
            "active_ttl": self.max_ttl,
        }


@dataclass(slots=True, eq=False)
class Job:
    """One job. *cost* is how many seconds it may compute."""

    id: str
    program: str
    backend: str
    params: dict[str, Any]
    created: float
    tags: list[str] = field(default_factory=list)
    session: str | None = None
    cost: int | None = None
    private: bool = False
    status: str = QUEUED
    reason: str = ""
    reason_code: int | None = None
    started: float | None = None
    ended: float | None = None
    results: str | None = None
    logs: str = ""

    @property
    def is_pending(self) -> bool:
        """Tell whether it is not over."""
        return self.status in PENDING

    @property
    def seconds(self) -> float:
        """How long it computed."""
        return round(self.ended - self.started, 6) if self.ended is not None and self.started is not None else 0.0

    def end(self, status: str, at: float, reason: str = "", code: int | None = None) -> None:
        """Come to an end, once."""
        if self.is_pending:
            self.status, self.ended, self.reason, self.reason_code = status, at, reason, code

    def shown(self, *, with_params: bool) -> dict[str, object]:
        """As a client sees it."""
        state: dict[str, object] = {"status": self.status}
        if self.reason:
            state["reason"] = self.reason
        if self.reason_code is not None:
            state["reason_code"] = self.reason_code
        shown: dict[str, object] = {
            "id": self.id,
            "backend": self.backend,
            "state": state,
            "status": "Cancelled - Ran too long" if self.reason_code == 1305 else self.status,
            "program": {"id": self.program},
            "created": written(self.created),
            "runtime": "gateway",
            "tags": self.tags,
            "session_id": self.session,
            "private": self.private,
            "usage": {"seconds": self.seconds, "quantum_seconds": self.seconds},
        }
        if self.cost is not None:
            shown["cost"] = self.cost
        if self.ended is not None:
            shown["ended"] = written(self.ended)
        if with_params and not self.private:
            shown["params"] = self.params
        return shown

    def metrics(self, place: int | None) -> dict[str, object]:
        """What was measured; *place* is where it stands in the queue, from 1 on."""
        metrics: dict[str, object] = {
            "timestamps": {
                "created": written(self.created),
                "running": written(self.started),
                "finished": written(self.ended),
            },
            "bss": {"seconds": self.seconds},
            "usage": {
                "status": "pending" if self.is_pending else "final",
                "qpu_charge_time_seconds": self.seconds,
                "quantum_seconds": self.seconds,
                "seconds": self.seconds,
            },
        }
        if place is not None:
            metrics["position_in_queue"] = place
        return metrics
