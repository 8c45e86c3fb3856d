"""A job as a line of the table, where it was read whole."""

from __future__ import annotations

from datetime import datetime

from bascule.model import Job, Tasks, to_json
from bascule.platforms.embedded.glance import Line


def line_of(job: Job) -> Line:
    """Return *job* as the table shows it."""
    status, tasks = job.status, job.status.tasks or Tasks()
    return Line(
        name=job.name,
        namespace=job.namespace,
        phase=str(status.phase),
        reason=str(status.reason),
        id=status.id,
        target=job.spec.target.name,
        attempt=status.attempt,
        exit_code=status.exit_code,
        created=_seconds(job.created_at) or 0.0,
        started=_seconds(status.started_at),
        finished=_seconds(status.finished_at),
        deleted=_seconds(job.deleted_at),
        message=status.message,
        labels=to_json(job.labels).decode(),
        total=tasks.total,
        done=tasks.done,
        failed=tasks.failed,
        row=0,
    )


def _seconds(time: datetime | None) -> float | None:
    return time.timestamp() if time is not None else None
