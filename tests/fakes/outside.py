"""
The outside world of the fake manager: a small cluster that is moved by the clock.

It knows nothing of Bascule: jobs have ids, names (our keys), owners and a course. What
happens to them by themselves (start, end, purge) is on an agenda, and is caught up with
whenever somebody looks. All of it follows from what was called when: no luck in here.
`tests.fakes.manager` speaks to it as an adapter would; tests move it by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bascule.model import parts_of
from bascule.ports import Clock
from tests.fakes.agenda import Agenda
from tests.fakes.course import Course, OutsideJob
from tests.fakes.ledger import Entry, Ledger, What

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class Outside:
    """The cluster: what lives, what its history keeps, and the ledger of what happened."""

    def __init__(self, clock: Clock, *, course: Course | None = None, history: bool = True) -> None:
        self.course = course or Course()
        self.courses: dict[str, tuple[Course, ...]] = {}
        self.history = history
        self.history_is_down = False
        self.purge_after: float | None = None
        self.keeps_for = 3600.0
        self.completes_in = 0.0
        self.appears_after = 0.0
        self.skew = timedelta(0)
        self.is_down = False
        self.locked = False
        self.instance = 1
        self._changes = 0
        self.live: dict[str, OutsideJob] = {}
        self.past: list[OutsideJob] = []
        self._agenda = Agenda(clock)
        self._ledger = Ledger()
        self._next_id = 100

    @property
    def now(self) -> float:
        """Return the cluster's seconds, after everything has happened that was due."""
        self._agenda.catch_up()
        return self._agenda.at

    @property
    def changes(self) -> int:
        """Return a number that moves whenever a job does."""
        self._agenda.catch_up()
        return self._changes

    @property
    def ledger(self) -> Ledger:
        """What happened up to now."""
        self._agenda.catch_up()
        return self._ledger

    def time_of(self, seconds: float) -> datetime:
        """Return the time of day by the cluster's own clock at its *seconds*."""
        return EPOCH + self.skew + timedelta(seconds=seconds)

    def later(self, seconds: float, happen: Callable[[], None]) -> None:
        """Let something happen in so many *seconds*."""
        self._agenda.catch_up()
        self._agenda.later(seconds, happen)

    def get(self, own_id: str) -> OutsideJob | None:
        """Return what the live view shows under an id, be it ours or not."""
        now, job = self.now, self.live.get(own_id)
        return job if job is not None and now >= job.submitted + self.appears_after else None

    def living(self) -> list[OutsideJob]:
        """Return what the live view shows."""
        now = self.now
        return [job for job in self.live.values() if now >= job.submitted + self.appears_after]

    def with_key(self, key: str) -> list[OutsideJob]:
        """Return all jobs that bear *key*, or the key of some attempt of a job of ours of that name."""
        self._agenda.catch_up()
        return [job for job in (*self.past, *self.live.values()) if key in {job.key, _name_in(job.key)}]

    # What clients ask for.

    def submit(
        self, key: str, *, own_id: str = "", held: bool = False, walltime: float | None = None, owner: str = "us"
    ) -> OutsideJob:
        """Take a new job in, under the next number unless it brings an id of its own."""
        parts = parts_of(key)
        courses = self.courses.get(parts.name if parts else key, (self.course,))
        course = courses[min(parts.attempt if parts else 1, len(courses)) - 1]
        job = OutsideJob(own_id or str(self._next_id), key, owner, self.now, course, held, walltime)
        self._next_id += not own_id
        self.live[job.id] = job
        self._note("submit", job)
        self._agenda.later(self.appears_after, self._move)
        self._expect_start(job)
        return job

    def release(self, job: OutsideJob) -> None:
        """Let a held job go."""
        if job.held and job.state == "PENDING":
            job.held, job.released = False, self.now
            self._note("release", job)
            self._expect_start(job)

    def hold(self, job: OutsideJob) -> None:
        """Keep a waiting job from starting."""
        if job.state == "PENDING":
            job.held = True
            self._changes += 1

    def cancel(self, job: OutsideJob) -> None:
        """End a job that has not ended."""
        if job.ended is None:
            self._note("cancel", job)
            self._end(job, "CANCELLED")

    def send(self, job: OutsideJob, signal: str) -> None:
        """Send a signal to a job that runs."""
        if job.state == "RUNNING":
            self._note("signal", job, signal)

    def set_walltime(self, job: OutsideJob, seconds: float) -> None:
        """Change how long the job may run."""
        job.walltime = seconds
        self._expect_time_out(job)

    # What happens to jobs, by themselves or by a test's hand.

    def start(self, job: OutsideJob) -> None:
        """Let a waiting job run, as a cluster does when there is room."""
        now = self.now
        if job.state != "PENDING" or job.held or self.live.get(job.id) is not job:
            return
        job.state, job.started = "RUNNING", now
        job.output += job.course.output
        self._note("restart" if job.restarts else "start", job)
        self._expect_time_out(job)
        if job.course.runs_for is not None:
            self._unless_it_moves(job, job.course.runs_for, lambda: self._end(job, job.course.word))

    def finish(self, job: OutsideJob, *, exit_code: int = 0, signal: int | None = None, word: str = "") -> None:
        """Let a running job end."""
        self._agenda.catch_up()
        if job.state == "RUNNING":
            job.course = replace(job.course, exit_code=exit_code, signal=signal)
            self._end(job, word)

    def requeue(self, job: OutsideJob) -> None:
        """Put a running job back into the queue, as after the loss of a node or a preemption."""
        job.restarts += 1
        job.state, job.started = "PENDING", None
        self._note("killed", job, "requeued")
        self._expect_start(job)

    def write(self, job: OutsideJob, data: bytes) -> None:
        """Let the job print something."""
        job.output += data

    def say(self, job: OutsideJob, word: str) -> None:
        """Give the job a state word that nobody knows; empty: its own again."""
        job.word = word
        self._changes += 1

    def purge(self, job: OutsideJob) -> None:
        """Drop a job from the live view; the history keeps it, where there is one."""
        if self.live.get(job.id) is job:
            del self.live[job.id]
            self._note("purge", job)
            if self.history:
                self.past.append(job)

    def reuse(self, job: OutsideJob, key: str = "somebody-elses") -> OutsideJob:
        """Give the job's id to a stranger's job, as clusters do when their numbers wrap."""
        self.purge(job)
        return self.submit(key, own_id=job.id, owner="stranger")

    def restart(self, *, forgets: float = 0.0) -> None:
        """Restart the head: jobs and releases of the last seconds are as if they had never been."""
        since = self.now - forgets
        for job in list(self.live.values()):
            if job.submitted > since:
                self._note("killed" if job.state == "RUNNING" else "forgotten", job)
                job.state = "FORGOTTEN"
                del self.live[job.id]
            elif job.state == "PENDING" and job.released is not None and job.released > since:
                job.held, job.released = True, None
        self.instance += 1
        self._move()
        self._next_id = max([99, *(int(job.id) for job in (*self.live.values(), *self.past) if job.id.isdigit())]) + 1

    def _expect_start(self, job: OutsideJob) -> None:
        if not job.held and job.course.starts_after is not None:
            self._agenda.later(job.course.starts_after, lambda: self.start(job))

    def _expect_time_out(self, job: OutsideJob) -> None:
        if job.started is not None and job.walltime is not None:
            limit = job.walltime
            left = job.started + limit - self.now

            def time_out() -> None:
                if job.walltime == limit:
                    self._end(job, "TIMEOUT")

            self._unless_it_moves(job, left, time_out)

    def _unless_it_moves(self, job: OutsideJob, seconds: float, happen: Callable[[], None]) -> None:
        started = job.started

        def happen_if_still_running() -> None:
            if job.state == "RUNNING" and job.started == started:
                happen()

        self._agenda.later(seconds, happen_if_still_running)

    def _end(self, job: OutsideJob, word: str = "") -> None:
        ran, job.ended = job.state == "RUNNING", self.now
        failed = job.course.exit_code or job.course.signal
        job.state = word or ("FAILED" if failed else "COMPLETED")
        job.settled = job.ended + (self.completes_in if ran else 0.0)
        if job.settled > job.ended:
            self._agenda.later(self.completes_in, self._move)
        self._note("end", job, job.state)
        if self.purge_after is not None:
            self._agenda.later(self.purge_after, lambda: self.purge(job))

    def _move(self) -> None:
        self._changes += 1

    def _note(self, what: What, job: OutsideJob, note: str = "") -> None:
        self._changes += 1
        self._ledger.entries.append(Entry(self.now, what, job.id, job.key, note))


def _name_in(key: str) -> str:
    parts = parts_of(key)
    return parts.name if parts else key
