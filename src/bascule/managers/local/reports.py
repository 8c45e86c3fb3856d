"""States of the spool as the core's reports. Pure."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

from bascule.managers.local.judging import source_of
from bascule.managers.local.records import CANCEL, LEFTOVERS, WALLTIME, End, State
from bascule.model import Phase, Report

_STOPPING = {
    CANCEL: "is being cancelled",
    WALLTIME: "its walltime is over, is being ended",
    LEFTOVERS: "has ended; what it left running is being ended",
}

ACCEPTED = Report(Phase.QUEUED, state="ACCEPTED", explanation="accepted, waits to be taken up")
"""What is said of a job that no supervisor has seen yet."""


def report_of(state: State) -> Report:
    """Return what the core should know of a job."""
    if state.end is not None:
        return _over(state, state.end)
    submitted = _time(state.at)
    if state.word == "queued":
        if state.ours or state.users:
            return Report(Phase.HELD, state="HELD", explanation="held", submitted_at=submitted, tasks=state.tasks)
        why = state.why or "waits for the jobs before it"
        return Report(
            Phase.QUEUED, state="QUEUED", why=state.why, explanation=why, submitted_at=submitted, tasks=state.tasks
        )
    words, word = state.tasks.summary if state.tasks else "runs", "RUNNING"
    if state.stop is not None:
        word, words = "STOPPING", _STOPPING[state.stop.cause]
        if state.stop.by_force:
            words += ", by force"
    return Report(
        Phase.QUEUED if state.word == "starting" else Phase.RUNNING,
        state="STARTING" if state.word == "starting" else word,
        why=state.why,
        explanation="starts" if state.word == "starting" else words,
        nodes=(platform.node(),),
        submitted_at=submitted,
        started_at=_time(state.started),
        tasks=state.tasks,
    )


def _over(state: State, end: End) -> Report:
    return Report(
        end.phase,
        state="OVER",
        reason=end.reason,
        explanation=end.explanation,
        exit_code=end.exit_code,
        signal=end.signal,
        nodes=(platform.node(),) if state.started is not None else (),
        submitted_at=_time(state.at),
        started_at=_time(state.started),
        finished_at=_time(state.finished),
        source=source_of(end),
        tasks=state.tasks,
    )


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
