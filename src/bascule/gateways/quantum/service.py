"""
What the service is about: jobs in a queue, sessions, and what became of them. No HTTP here.

One job computes at a time, the oldest first. A job that computes for longer than its ``cost`` is
ended, and says so; a session that is closed takes no more, and one that is cancelled takes its
waiting jobs with it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from bascule.gateways.quantum.asking import Listing, Opening, Submit
from bascule.gateways.quantum.devices import Device
from bascule.gateways.quantum.records import CANCELLED, COMPLETED, FAILED, QUEUED, RUNNING, Job, Session
from bascule.gateways.quantum.refusals import (
    NO_SUCH_BACKEND,
    NO_SUCH_JOB,
    NO_SUCH_SESSION,
    NOT_OVER,
    OVER_ALREADY,
    RAN_TOO_LONG,
    SESSION_CLOSED,
    TOO_OFTEN,
    USAGE_SPENT,
    ProgramFailed,
    Refusal,
)

LONGEST_RUN = 600
"""Seconds that a job may compute, unless it asks for less."""
MOST_KEPT = 10_000
WINDOW = 60.0


class Outcome(NamedTuple):
    """What a job brought: *results* as the service encodes them, and a log."""

    results: str
    logs: str


class Engine(Protocol):
    """Computes."""

    async def run(self, job: Job) -> Outcome:
        """Compute *job*; raise `ProgramFailed`. Being cancelled ends the computation."""


class QuantumService:
    """The service, of one account; *now* gives seconds since the epoch."""

    def __init__(
        self,
        engine: Engine,
        devices: Sequence[Device],
        now: Callable[[], float],
        *,
        submits_per_minute: int | None = None,
        usage_limit: float | None = None,
    ) -> None:
        self.jobs: dict[str, Job] = {}
        self.sessions: dict[str, Session] = {}
        self.devices = {device.name: device for device in devices}
        self.offline: dict[str, str] = {}
        """Devices that take no jobs, and why."""
        self._engine = engine
        self._now = now
        self._per_minute = submits_per_minute
        self._usage_limit = usage_limit
        self._submitted: list[float] = []
        self._computing: tuple[Job, asyncio.Task[Outcome]] | None = None
        self._moved = asyncio.Event()

    async def run(self) -> None:
        """Compute what waits, one job after the other, until cancelled."""
        while True:
            job = next((job for job in self.jobs.values() if self._may_start(job)), None)
            if job is None:
                self._moved.clear()
                await self._moved.wait()
                continue
            await self._compute(job)

    def _may_start(self, job: Job) -> bool:
        return job.status == QUEUED and job.backend not in self.offline

    async def _compute(self, job: Job) -> None:
        job.status, job.started = RUNNING, self._now()
        try:
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(self._outcome(job), name=f"compute {job.id}")
                self._computing = (job, task)
        finally:
            self._computing = None
        if task.cancelled() or not job.is_pending:
            return
        outcome = task.result()
        job.results, job.logs = outcome.results, outcome.logs
        job.end(COMPLETED, self._now())

    async def _outcome(self, job: Job) -> Outcome:
        limit = min(job.cost or LONGEST_RUN, LONGEST_RUN)
        try:
            async with asyncio.timeout(limit):
                return await self._engine.run(job)
        except TimeoutError:
            job.end(CANCELLED, self._now(), f"Ran too long: it computed for more than {limit} s", RAN_TOO_LONG)
        except ProgramFailed as failed:
            job.end(FAILED, self._now(), failed.message, failed.code)
            job.logs = failed.message
        return Outcome("", job.logs)

    # Jobs

    def submit(self, asked: Submit) -> Job:
        """Take a job."""
        now = self._now()
        self._submitted = [at for at in self._submitted if now - at < WINDOW]
        if self._per_minute is not None and len(self._submitted) >= self._per_minute:
            wait = int(WINDOW - (now - self._submitted[0])) + 1
            raise Refusal(429, TOO_OFTEN, f"more than {self._per_minute} jobs in a minute", retry_after=wait)
        self.device(asked.backend)
        if self._usage_limit is not None and self.usage() >= self._usage_limit:
            raise Refusal(409, USAGE_SPENT, f"the instance has used up its {self._usage_limit:g} s")
        if asked.session is not None:
            self._join(asked)
        job = Job(
            f"d{secrets.token_hex(10)[1:]}",
            asked.program,
            asked.backend,
            asked.params,
            now,
            list(asked.tags),
            asked.session,
            asked.cost,
            asked.private,
        )
        self._submitted.append(now)
        self._make_room()
        self.jobs[job.id] = job
        self._moved.set()
        return job

    def _join(self, asked: Submit) -> None:
        session = self.session(asked.session or "")
        if not session.accepts:
            raise Refusal(400, SESSION_CLOSED, f"Session has been closed: `{session.id}`")
        if session.backend != asked.backend:
            raise Refusal(400, SESSION_CLOSED, f"session `{session.id}` is of the backend `{session.backend}`")

    def _make_room(self) -> None:
        if len(self.jobs) < MOST_KEPT:
            return
        over = next((job for job in self.jobs.values() if not job.is_pending), None)
        if over is None:
            raise Refusal(409, TOO_OFTEN, f"{MOST_KEPT} jobs wait already")
        del self.jobs[over.id]

    def job(self, job_id: str) -> Job:
        """Return a job."""
        if job_id not in self.jobs:
            raise Refusal(404, NO_SUCH_JOB, f"Job not found: `{job_id[:64]}`")
        return self.jobs[job_id]

    def listed(self, asked: Listing) -> tuple[list[Job], int]:
        """Return the jobs that are asked for, and how many there are of the kind."""
        found = [job for job in self.jobs.values() if _fits(job, asked)]
        found.sort(key=lambda job: job.created, reverse=not asked.ascending)
        return found[asked.offset : asked.offset + asked.limit], len(found)

    def cancel(self, job_id: str) -> None:
        """End a job that is not over."""
        job = self.job(job_id)
        if not job.is_pending:
            raise Refusal(409, OVER_ALREADY, f"job `{job.id}` is over: {job.status}")
        self._end(job)

    def delete(self, job_id: str) -> None:
        """Forget a job that is over."""
        job = self.job(job_id)
        if job.is_pending:
            raise Refusal(409, NOT_OVER, f"job `{job.id}` is not over")
        del self.jobs[job_id]

    def results(self, job_id: str) -> str:
        """Return what a job brought."""
        job = self.job(job_id)
        if job.status == FAILED or job.reason_code == RAN_TOO_LONG:
            return job.reason
        if job.results is None:
            raise Refusal(404, NO_SUCH_JOB, f"job `{job.id}` has no results")
        return job.results

    def place_of(self, job: Job) -> int | None:
        """Return where a job stands in the queue, from 1 on."""
        waiting = [other.id for other in self.jobs.values() if other.status == QUEUED]
        return waiting.index(job.id) + 1 if job.status == QUEUED else None

    def _end(self, job: Job) -> None:
        job.end(CANCELLED, self._now(), "cancelled by its user")
        if self._computing is not None and self._computing[0] is job:
            self._computing[1].cancel()

    # Sessions

    def open(self, asked: Opening) -> Session:
        """Open a session."""
        self.device(asked.backend)
        session = Session(f"s{secrets.token_hex(10)[1:]}", asked.backend, asked.mode, self._now(), asked.max_ttl)
        self.sessions[session.id] = session
        return session

    def session(self, session_id: str) -> Session:
        """Return a session, closed if its time is over or its last job is."""
        session = self.sessions.get(session_id)
        if session is None:
            raise Refusal(404, NO_SUCH_SESSION, f"Session not found: `{session_id[:64]}`")
        if session.closed is None:
            now = self._now()
            if now - session.created >= session.max_ttl:
                self._cancel(session)
            elif not session.accepts and not any(job.is_pending for job in self._of(session)):
                session.closed = now
        return session

    def close(self, session_id: str) -> None:
        """Let a session accept no more jobs; those that it has go on."""
        self.session(session_id).accepts = False
        self.session(session_id)

    def cancel_session(self, session_id: str) -> None:
        """Close a session, and end its jobs."""
        self._cancel(self.session(session_id))

    def _cancel(self, session: Session) -> None:
        session.accepts = False
        session.closed = session.closed or self._now()
        for job in self._of(session):
            if job.is_pending:
                self._end(job)

    def _of(self, session: Session) -> list[Job]:
        return [job for job in self.jobs.values() if job.session == session.id]

    # Devices

    def device(self, name: str) -> Device:
        """Return a device."""
        if name not in self.devices:
            raise Refusal(404, NO_SUCH_BACKEND, f"there is no backend `{name[:64]}`")
        return self.devices[name]

    def waiting(self, name: str) -> int:
        """Return how many jobs wait for a device."""
        return sum(job.is_pending for job in self.jobs.values() if job.backend == name)

    def usage(self) -> float:
        """Return how many seconds were computed."""
        return sum(job.seconds for job in self.jobs.values())


def _fits(job: Job, asked: Listing) -> bool:
    return (
        (asked.pending is None or job.is_pending is asked.pending)
        and asked.backend in (None, job.backend)
        and asked.program in (None, job.program)
        and asked.session in (None, job.session)
        and set(asked.tags) <= set(job.tags)
        and (asked.after is None or job.created >= asked.after)
        and (asked.before is None or job.created <= asked.before)
    )
