"""
What an adapter makes of the fake cluster's jobs: its words to ours, its ids to handles.
"""

from __future__ import annotations

from datetime import datetime

from bascule.model import Absent, Answer, CannotTell, Found, Handle, Match, Phase, Reason, Report, Source
from bascule.ports import Abilities
from tests.fakes.course import OutsideJob
from tests.fakes.outside import Outside

WORDS = {
    "PENDING": (Phase.QUEUED, ""),
    "RUNNING": (Phase.RUNNING, ""),
    "COMPLETED": (Phase.SUCCEEDED, ""),
    "CANCELLED": (Phase.CANCELLED, ""),
    "TIMEOUT": (Phase.FAILED, Reason.TIMED_OUT),
    "OUT_OF_MEMORY": (Phase.FAILED, Reason.OUT_OF_MEMORY),
    "NODE_FAIL": (Phase.FAILED, Reason.NODE_FAILED),
    "PREEMPTED": (Phase.FAILED, Reason.PREEMPTED),
}


class Reader:
    """Reads the cluster as a manager of these *abilities* can."""

    def __init__(self, outside: Outside, abilities: Abilities) -> None:
        self.outside = outside
        self.abilities = abilities

    def handle_of(self, job: OutsideJob) -> Handle:
        """Return the job's handle."""
        return Handle(job.id, job.key, self.outside.time_of(job.submitted), instance=str(self.outside.instance))

    def is_ours(self, job: OutsideJob, handle: Handle) -> bool:
        """Tell whether *job* is the one that *handle* means, and not a later bearer of its id."""
        if job.id != handle.id:
            return False
        if not handle.key:
            return True
        if self.abilities.key == "none":
            return handle.submitted_at == self.outside.time_of(job.submitted)
        return job.key == handle.key

    def living(self, handle: Handle) -> OutsideJob | None:
        """Return the living job that *handle* means."""
        job = self.outside.get(handle.id)
        return job if job is not None and self.is_ours(job, handle) else None

    def answer(self, handle: Handle, as_of: datetime) -> Answer:
        """Say how the job of *handle* stands."""
        job = self.living(handle)
        if job is not None:
            return self.report(job)
        for old in reversed(self.outside.past if self.abilities.history else []):
            if self.is_ours(old, handle) and not self.outside.history_is_down:
                return self.report(old, Source.HISTORY)
        since = handle.submitted_at
        age = (self.outside.time_of(self.outside.now) - since).total_seconds() if since is not None else None
        return self.absence(age, as_of)

    def search(self, key: str, since: datetime, as_of: datetime) -> Found | Absent | CannotTell:
        """Look for *key* in all that can be searched."""
        jobs = [(job, Source.LIVE) for job in self.outside.living()]
        if self.abilities.history and not self.outside.history_is_down:
            jobs += [(job, Source.HISTORY) for job in self.outside.past]
        ours = sorted(((job, source) for job, source in jobs if job.key == key), key=lambda pair: pair[0].submitted)
        if ours:
            return Found(
                tuple(Match(self.handle_of(job), self.report(job, src), self.is_held(job)) for job, src in ours)
            )
        return self.absence((as_of - since).total_seconds(), as_of)

    def absence(self, age: float | None, as_of: datetime) -> Absent | CannotTell:
        """Say what it means that a job which is *age* seconds old at most is not there."""
        if self.abilities.key == "chosen":
            instance = str(self.outside.instance)
            return Absent(f"there is no job of this id in session {instance}", as_of, instance)
        if self.abilities.history:
            if self.outside.history_is_down:
                return CannotTell("the history does not answer")
            return Absent("the live view and the history were read", as_of)
        if self.abilities.key == "searched" and age is not None and age < self.outside.keeps_for:
            return Absent("the live view keeps jobs longer than that", as_of)
        return CannotTell("the live view no longer has it, and there is no history")

    def is_held(self, job: OutsideJob) -> bool:
        """Tell whether somebody's hold keeps the job."""
        return job.held and job.state == "PENDING"

    def report(self, job: OutsideJob, source: Source = Source.LIVE) -> Report:
        """Translate a job."""
        phase, reason = WORDS.get(job.word or job.state, (None, ""))
        if (job.word or job.state) == "FAILED":
            phase, reason = Phase.FAILED, Reason.SIGNAL if job.course.signal else Reason.EXIT_CODE
        held = self.is_held(job)
        ended_by_itself = job.state in {"COMPLETED", "FAILED"}
        return Report(
            phase=Phase.HELD if held and phase is Phase.QUEUED else phase,
            state=job.word or job.state,
            reason=reason,
            why="JobHeldUser" if held else "",
            exit_code=job.course.exit_code if ended_by_itself and not job.course.signal else None,
            signal=job.course.signal if ended_by_itself else None,
            nodes=("n1",) if job.started is not None else (),
            restarts=job.restarts,
            submitted_at=self.outside.time_of(job.submitted),
            started_at=self._time(job.started),
            finished_at=self._time(job.ended),
            settled=job.ended is None or self.outside.now >= job.settled,
            source=source,
        )

    def _time(self, seconds: float | None) -> datetime | None:
        return None if seconds is None else self.outside.time_of(seconds)
