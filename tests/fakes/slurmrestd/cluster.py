"""
The fake slurmctld and slurmdbd: jobs that a test moves by hand, on a clock that it moves too.

Knows nothing of HTTP; `shapes` writes its jobs as each version does, `server` answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

US, STRANGER = "alice", "mallory"
NODES = ("n1", "n2")
PARTITIONS = {"main": None, "short": 1}
"""Partitions, and the most minutes that each allows."""


FINAL = {
    "COMPLETED",
    "FAILED",
    "CANCELLED",
    "TIMEOUT",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "DEADLINE",
    "BOOT_FAIL",
}


class Said(Exception):
    """What slurmctld says instead of doing it: an error number and its words."""

    def __init__(self, number: int, words: str) -> None:
        super().__init__(words)
        self.number = number
        self.words = words


@dataclass(slots=True)
class FakeJob:
    id: int
    user: str
    desc: dict[str, Any]
    script: str
    submitted: int
    words: list[str] = field(default_factory=lambda: ["PENDING"])
    reason: str = "None"
    held: bool = False
    started: int = 0
    ended: int = 0
    status: int = 0
    """As ``wait`` gives it."""
    nodes: str = ""
    restarts: int = 0
    killed_by: str = ""
    minutes: int | None = None
    signals: list[str] = field(default_factory=list)
    argv: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.desc["name"]

    @property
    def is_over(self) -> bool:
        return self.words[0] in FINAL and "COMPLETING" not in self.words


class FakeCluster:
    def __init__(self, now: Callable[[], float], *, accounting: bool = True) -> None:
        self.now = now
        self.accounting = accounting
        self.min_job_age = 300
        self.live: dict[int, FakeJob] = {}
        self.past: list[FakeJob] = []
        self.starts: list[str] = []
        self.changed_at = int(now())
        self.is_down = False
        self.is_locked_up = False
        """Deadlocked by a question of somebody else's job; only ``kill -9`` helps."""
        self.database_is_down = False
        self._next = 100

    def seconds(self) -> int:
        return int(self.now())

    # What slurmrestd asks for.

    def submit(self, user: str, desc: dict[str, Any], script: str, *, hold: bool, minutes: int | None) -> FakeJob:
        partition = desc.get("partition", "main")
        if partition not in PARTITIONS:
            raise Said(2000, "Invalid partition name specified")
        if not script:
            raise Said(2009, "Job script not specified")
        job = FakeJob(self._next, user, desc, script, self.seconds(), minutes=minutes)
        self._next += 1
        job.held = hold
        job.reason = "JobHeldUser" if hold else "Priority"
        limit = PARTITIONS[partition]
        if not hold and limit is not None and minutes is not None and minutes > limit:
            job.reason = "PartitionTimeLimit"
        self.live[job.id] = job
        self._changed()
        return job

    def jobs(self) -> list[FakeJob]:
        self.catch_up()
        return list(self.live.values())

    def job(self, number: int) -> FakeJob:
        self.catch_up()
        if number not in self.live:
            raise Said(2017, "Invalid job id specified")
        return self.live[number]

    def hold(self, job: FakeJob, *, hold: bool) -> None:
        if job.is_over:
            raise Said(2084, "Job has already finished")
        if job.words == ["PENDING"]:
            job.held, job.reason = hold, "JobHeldUser" if hold else "Priority"
            self._changed()

    def limit(self, job: FakeJob, minutes: int) -> None:
        if job.is_over:
            raise Said(2084, "Job has already finished")
        job.minutes = minutes
        self._changed()

    def kill(self, job: FakeJob, user: str) -> None:
        if job.user != user:
            if not self.accounting:
                self.is_locked_up = True
            raise Said(2002, "Access/permission denied")
        if job.is_over:
            raise Said(2021, "Job/step already completing or completed")
        ran = job.words == ["RUNNING"]
        job.killed_by = user
        self._end(job, "CANCELLED", status=15 if ran else 0)

    def signal(self, job: FakeJob, user: str, name: str) -> None:
        if job.user != user:
            raise Said(2002, "Access/permission denied")
        if job.is_over:
            raise Said(2021, "Job/step already completing or completed")
        if job.words != ["RUNNING"]:
            raise Said(2020, "Job can not be altered now, try again later")
        job.signals.append(name)

    # What happens.

    def catch_up(self) -> None:
        """Let end what has reached its walltime, and forget what has been over for long."""
        for job in list(self.live.values()):
            if job.words == ["RUNNING"] and job.minutes and self.seconds() >= job.started + 60 * job.minutes:
                self._end(job, "TIMEOUT", status=0, at=job.started + 60 * job.minutes)
            if job.is_over and self.seconds() > job.ended + self.min_job_age:
                self.purge(job)

    def start(self, number: int) -> None:
        job = self.live[number]
        if job.words == ["PENDING"] and not job.held:
            job.words, job.reason, job.started, job.nodes = ["RUNNING"], "None", self.seconds(), "n1"
            self.starts.append(job.name)
            self._changed()

    def finish(self, number: int, *, exit_code: int = 0, signal: int = 0, word: str = "") -> None:
        job = self.live[number]
        failed = bool(exit_code or signal)
        word = word or ("FAILED" if failed else "COMPLETED")
        job.reason = "NonZeroExitCode" if exit_code else "None"
        self._end(job, word, status=signal or exit_code << 8)

    def requeue(self, number: int, word: str = "NODE_FAIL") -> None:
        job = self.live[number]
        self.past.append(FakeJob(job.id, job.user, job.desc, job.script, job.submitted, [word], started=job.started))
        self.past[-1].ended = self.seconds()
        job.words, job.started, job.nodes, job.submitted = ["PENDING"], 0, "", self.seconds()
        job.reason, job.restarts = "BeginTime", job.restarts + 1
        self._changed()

    def purge(self, job: FakeJob) -> None:
        del self.live[job.id]
        self.past.append(job)
        self._changed()

    def reuse(self, number: int) -> FakeJob:
        """Give the id to a stranger's job, as after a crash of slurmctld; it runs."""
        self.past.append(self.live.pop(number))
        job = FakeJob(number, STRANGER, {"name": "theirs"}, "#!/bin/sh\n", self.seconds(), ["RUNNING"])
        job.started, job.nodes = self.seconds(), "n2"
        self.live[number] = job
        self._changed()
        return job

    def crash(self, *, forgets: float) -> None:
        """Be killed and started again: what was submitted within the last seconds is forgotten, its ids are given again."""
        kept = {number: job for number, job in self.live.items() if job.submitted <= self.now() - forgets}
        self.live = kept
        self._next = max([99, *kept]) + 1
        self._changed()

    def rewind(self, number: int) -> None:
        """Be killed and started again, from before this job was released; slurmdbd keeps what it was told."""
        job = self.live[number]
        if job.words != ["PENDING"]:
            self.past.append(replace(job))
        job.words, job.reason, job.held = ["PENDING"], "JobHeldUser", True
        job.started = job.ended = job.status = 0
        job.nodes = job.killed_by = ""
        self._changed()

    def resurrect(self, number: int) -> None:
        """Be killed and started again, from before this job's end; slurmdbd keeps what it was told."""
        job = self.live[number]
        self.past.append(replace(job))
        job.words, job.ended, job.status = ["RUNNING"], 0, 0
        self._changed()

    def say(self, number: int, word: str) -> None:
        self.live[number].words = [word]
        self._changed()

    def _end(self, job: FakeJob, word: str, *, status: int, at: int | None = None) -> None:
        job.words, job.status, job.ended, job.held = [word], status, at or self.seconds(), job.held
        job.started = job.started or job.ended
        self._changed()

    def _changed(self) -> None:
        self.changed_at = self.seconds()
