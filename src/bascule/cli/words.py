"""What is said about jobs: one way for every command."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bascule.cli import spans
from bascule.model import Job, JobStatus, Phase, Reason

GOES_ON_BY_ITSELF = frozenset({Phase.QUEUED, Phase.HELD, Phase.RUNNING, Phase.UNKNOWN})


def state_of(job: Job) -> str:
    """Return where *job* stands, as one line without its name."""
    status = job.status
    words = str(status.phase)
    if job.deleted_at is not None and not status.phase.is_final:
        words += ", being deleted"
    if status.reason:
        words += f" ({status.reason})"
    if status.attempt > 1:
        words += f", attempt {status.attempt}"
    return f"{words}: {status.message}" if status.message else words


def step_of(job: Job) -> str:
    """Return what of *job*'s state is worth another line: of an array that runs, every tenth of its tasks."""
    tasks = job.status.tasks
    if tasks is None or job.status.phase is not Phase.RUNNING:
        return state_of(job)
    tenth = tasks.done * 10 // max(tasks.total, 1)
    return f"{job.status.attempt} {job.status.reason} {tenth} {tasks.failed > 0}"


def result_of(job: Job) -> str:
    """Return how *job* ended, as one line without its name."""
    status = job.status
    took = duration_of(status)
    words = str(status.phase)
    if status.reason:
        words += f" ({status.reason})"
    if took is not None:
        words += f" after {short(took)}"
    return f"{words}: {status.message}" if status.message and status.phase is not Phase.SUCCEEDED else words


def duration_of(status: JobStatus, now: datetime | None = None) -> timedelta | None:
    """Return how long it ran, until *now* where it has not ended; None where it never started."""
    end = status.finished_at or now
    if status.started_at is None or end is None:
        return None
    return max(end - status.started_at, timedelta())


def short(span: timedelta) -> str:
    """Return *span* in at most two units."""
    return spans.short(span.total_seconds())


def age(at: datetime | None, now: datetime | None = None) -> str:
    """Return how long ago *at* was, in its largest unit."""
    return spans.age(((now or datetime.now(UTC)) - at).total_seconds()) if at else ""


def moment(at: datetime | None) -> str:
    """Return *at* in UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ") if at else ""


def goes_on(job: Job) -> bool:
    """Tell whether *job* comes to its end when nobody drives its home; what we add to it may be missing then."""
    return job.status.phase in GOES_ON_BY_ITSELF


def what_moves_it(job: Job) -> str:
    """Return what becomes of *job* when nobody drives its home; it is not over."""
    status = job.status
    if status.reason in (Reason.WAITING_FOR_JOB, Reason.RETRYING, Reason.TARGET_FULL, Reason.TARGET_UNREACHABLE):
        return f"it is not submitted ({status.message}), and goes on when somebody drives this home"
    if status.phase is Phase.PENDING:
        return "it is stored and not submitted yet, and goes on when somebody drives this home"
    if status.phase is Phase.SUBMITTING:
        return "its submit is under way, and is brought to its end when somebody drives this home"
    more = []
    if job.spec.retry.limit:
        more.append("a retry")
    if any((job.spec.deadlines.queued, job.spec.deadlines.running)):
        more.append("its deadlines")
    if job.spec.signal is not None:
        more.append("its warning signal")
    words = "it goes on by itself"
    return f"{words}; {' and '.join(more)} would need somebody who drives this home" if more else words
