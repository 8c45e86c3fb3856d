"""
A job as Slurm tells it, in one form, whichever version and daemon it comes from.

``wire`` has what is sent; ``states`` says what it means.
"""

from __future__ import annotations

from typing import NamedTuple

from bascule.managers.slurm.indices import in_bit_map, indices_in
from bascule.managers.slurm.wire import ExitCode, LiveJob, PastJob, integer, words
from bascule.model import Source

LARGEST_SIGNAL = 64


class Record(NamedTuple):
    """One run of one job, or one task of an array, or an array's tasks that have not started."""

    id: int
    name: str
    user: str
    words: tuple[str, ...]
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    submitted: int | None = None
    started: int | None = None
    ended: int | None = None
    nodes: str = ""
    restarts: int = 0
    hold: bool = False
    array: int | None = None
    task: int | None = None
    waiting: tuple[int, ...] = ()
    comment: str = ""
    folder: str = ""
    output: str = ""
    error: str = ""
    failed_node: str = ""
    killed_by: str = ""
    source: Source = Source.LIVE

    @property
    def of(self) -> int:
        """The id under which it was submitted: that of its array, where it is part of one."""
        return self.array or self.id


def from_live(job: LiveJob) -> Record:
    """Read what slurmctld says."""
    code, signal = _end(job.exit_code)
    reason = job.state_reason or ""
    array = integer(job.array_job_id) or None
    task = integer(job.array_task_id) if array else None
    return Record(
        id=job.job_id,
        name=job.name or "",
        user=job.user_name or "",
        words=words(job.job_state),
        reason="" if reason == "None" else reason,
        exit_code=code,
        signal=signal,
        submitted=integer(job.submit_time) or None,
        started=integer(job.start_time) or None,
        ended=integer(job.end_time) or None,
        nodes=job.nodes or "",
        restarts=integer(job.restart_cnt) or 0,
        hold=bool(job.hold),
        array=array,
        task=task,
        waiting=indices_in(job.array_task_string or "") if array and task is None else (),
        comment=job.comment or "",
        folder=job.current_working_directory or "",
        output=job.standard_output or "",
        error=job.standard_error or "",
        failed_node=job.failed_node or "",
    )


def from_past(job: PastJob) -> Record:
    """Read what slurmdbd says."""
    code, signal = _end(job.exit_code)
    state = job.state
    current = words(state.current) if state else ()
    if current == ("FAILED",) and not code and not signal:
        # dbv0.0.38 says 0 of every job; the batch step is the first and knows better.
        code, signal = next((end for step in job.steps if any(end := _end(step.exit_code))), (code, signal))
    array = (integer(job.array.job_id) if job.array else None) or None
    task = integer(job.array.task_id) if job.array and array else None
    waiting = in_bit_map(job.array.task or "") if job.array and array else ()
    if waiting:
        task = None  # tasks that never started share a row, whose task id means nothing
    reason = (state.reason if state else "") or ""
    times = job.time
    return Record(
        id=job.job_id,
        name=job.name or "",
        user=job.user or "",
        words=current,
        reason="" if reason == "None" else reason,
        exit_code=code,
        signal=signal,
        submitted=(integer(times.submission) if times else None) or None,
        started=(integer(times.start) if times else None) or None,
        ended=(integer(times.end) if times else None) or None,
        nodes="" if (job.nodes or "") == "None assigned" else job.nodes or "",
        restarts=integer(job.restart_cnt) or 0,
        array=array,
        task=task,
        waiting=waiting,
        comment=(job.comment.job if job.comment else "") or "",
        folder=job.working_directory or "",
        output=job.stdout or "",
        error=job.stderr or "",
        failed_node=job.failed_node or "",
        killed_by=job.kill_request_user or "",
        source=Source.HISTORY,
    )


def _end(code: ExitCode | int | None) -> tuple[int | None, int | None]:
    """Return exit code and signal; either may be None."""
    if code is None:
        return None, None
    if isinstance(code, int):
        status = integer(code)
        if status is None:
            return None, None
        killed = status & 0x7F
        return (None, killed) if killed else (status >> 8 & 0xFF, None)
    if code.return_code is None and code.signal is None:
        return integer(int(code.number)) if code.set and code.number is not None else None, None
    signal = None
    if code.signal is not None:
        signal = integer(code.signal.id) if code.signal.id is not None else integer(code.signal.signal_id)
    if signal:
        # Slurm's own marks (125 is "out of memory") are no signals of the system.
        return None, signal if signal <= LARGEST_SIGNAL else None
    return integer(code.return_code), None
