"""
The fake LSF: a small cluster whose jobs are real processes of this machine, on a clock that tests move.

Knows nothing of HTTP: `commands` are LSF's own, `shapes` writes its jobs as Application Center
does, `server` answers. As in LSF, what a job prints is kept back until it ends, and then put
behind a report; only what the job writes by itself can be seen before.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

US, STRANGER, GUEST = "alice", "mallory", "guest"
HOST = "hosta"
QUEUES = ("normal", "short")
JOB_FILE = "trap : HUP INT USR1 USR2 TERM\n{command}\nexit $?"
"""What LSF puts around a command: it lives through the signals that are for the job."""
GRACE = 0.3
"""Real seconds between the signals of `bkill`."""


class Said(Exception):
    """What LSF prints instead of doing it."""


@dataclass(slots=True)
class FakeJob:
    """A job, or a task of an array (*index*)."""

    id: int
    user: str
    name: str
    command: str
    folder: Path
    submitted: float
    index: int | None = None
    queue: str = "normal"
    outfile: str = ""
    description: str = ""
    project: str = "default"
    extra: dict[str, list[str]] = field(default_factory=dict)
    limit: float | None = None
    word: str = "PEND"
    odd: str = ""
    pending: str = "New job is waiting for scheduling;"
    started: float = 0.0
    ended: float = 0.0
    status: int = 0
    """As ``wait`` gives it."""
    term: str = ""
    process: subprocess.Popen[bytes] | None = None
    printed: Path | None = None
    killing: tuple[float, int] | None = None
    events: list[tuple[float, str]] = field(default_factory=list)

    @property
    def own_id(self) -> str:
        return str(self.id) if self.index is None else f"{self.id}[{self.index}]"

    @property
    def own_name(self) -> str:
        return self.name if self.index is None else f"{self.name}[{self.index}]"

    @property
    def is_over(self) -> bool:
        return self.word in {"DONE", "EXIT"}

    @property
    def exit_status(self) -> int:
        """As bjobs shows it."""
        killed = self.status & 0x7F
        return 128 + killed if killed else self.status >> 8


class FakeCluster:
    def __init__(
        self, folder: Path, now: Callable[[], float] = time.time, *, slots: int = 0, clean_period: float = 3600.0
    ) -> None:
        self.folder = folder
        self.now = now
        self.slots = slots
        """How many jobs start by themselves; none: a test starts them."""
        self.clean_period = clean_period
        self.history_seconds = 7 * 86400.0
        self.live: list[FakeJob] = []
        self.past: list[FakeJob] = []
        self.lock = threading.RLock()
        self._next = 236

    # What users ask for.

    def make_folder(self, user: str, name: str) -> Path:
        """Make the folder of a job, as Application Center does at a submit."""
        plain = name.partition("[")[0]
        root = self.folder / user
        root.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{plain}_", dir=root))

    def submit(
        self,
        user: str,
        name: str,
        command: str,
        folder: Path,
        *,
        held: bool,
        indices: list[int] | None = None,
        **more: object,
    ) -> int:
        if more.get("queue", "normal") not in QUEUES:
            raise Said(f"{more['queue']}: No such queue. Job not submitted.")
        number, self._next = self._next, self._next + 1
        for index in indices or [None]:
            job = FakeJob(number, user, name, command, folder, self.now(), index, **more)  # type: ignore[arg-type]
            job.word = "PSUSP" if held else "PEND"
            if held:
                job.pending = "Job was suspended by the user while pending;"
            self._note(job, f"Submitted from host <{HOST}>, to Queue <{job.queue}>, CWD <{folder}>;")
            self.live.append(job)
        return number

    def jobs_of(self, number: int, index: int | None = None) -> list[FakeJob]:
        self.catch_up()
        return [job for job in self.live if job.id == number and index in {None, job.index}]

    def jobs_of_user(self, user: str) -> list[FakeJob]:
        self.catch_up()
        return [job for job in self.live if job.user == user]

    def kill(self, job: FakeJob, *, term: str = "TERM_OWNER") -> None:
        if job.is_over:
            raise Said(f"Job <{job.own_id}>: Job has already finished")
        self._note(job, f"Signal <KILL> requested by user or administrator <{job.user}>;")
        if job.process is None:
            job.term = term
            self._end(job, 0 if job.word == "PSUSP" else 130 << 8, killed=True)
            return
        job.term = job.term or term
        if job.word in {"USUSP", "SSUSP"}:
            self._signal(job, signal.SIGCONT)
        self._signal(job, signal.SIGINT)
        job.killing = (time.monotonic() + GRACE, signal.SIGTERM)

    def send(self, job: FakeJob, number: int) -> None:
        if job.is_over:
            raise Said(f"Job <{job.own_id}>: Job has already finished")
        if job.process is None:
            raise Said(f"Job <{job.own_id}>: Job has not started yet")
        self._note(job, f"Signal <{signal.Signals(number).name[3:]}> requested by user or administrator <{job.user}>;")
        self._signal(job, number)

    def stop(self, job: FakeJob) -> None:
        if job.is_over:
            raise Said(f"Job <{job.own_id}>: Job has already finished")
        if job.word == "PEND":
            job.word, job.pending = "PSUSP", "Job was suspended by the user while pending;"
        elif job.word == "RUN":
            self._signal(job, signal.SIGSTOP)
            job.word = "USUSP"
        else:
            raise Said(f"Job <{job.own_id}>: Job is already suspended")

    def resume(self, job: FakeJob) -> None:
        if job.is_over:
            raise Said(f"Job <{job.own_id}>: Job has already finished")
        if job.word == "PSUSP":
            job.word, job.pending = "PEND", "New job is waiting for scheduling;"
        elif job.word == "USUSP":
            self._signal(job, signal.SIGCONT)
            job.word = "RUN"
        else:
            raise Said(f"Job <{job.own_id}>: Job is not suspended")

    def set_limit(self, job: FakeJob, seconds: float) -> None:
        if job.is_over:
            raise Said(f"Job <{job.own_id}>: Job has already finished")
        job.limit = seconds

    # What happens.

    def catch_up(self) -> None:
        """Let happen what is due: starts, ends, limits, and forgetting."""
        with self.lock:
            for job in list(self.live):
                self._catch_up_with(job)
            running = sum(job.process is not None and not job.is_over for job in self.live)
            for job in self.live:
                if running < self.slots and job.word == "PEND" and self.start(job):
                    running += 1
            self.past = [job for job in self.past if not job.is_over or self.now() - job.ended < self.history_seconds]

    def start(self, job: FakeJob) -> bool:
        """Let a waiting job run."""
        if job.word != "PEND":
            return False
        printed = tempfile.NamedTemporaryFile(delete=False, dir=self.folder)  # noqa: SIM115 - kept until its end
        job.printed = Path(printed.name)
        settings = {
            **os.environ,
            "LSB_JOBID": str(job.id),
            "LSB_JOBINDEX": str(job.index or 0),
            "LSB_JOBNAME": job.own_name,
            "LSB_QUEUE": job.queue,
            "LSB_HOSTS": HOST,
        }
        with printed:
            job.process = subprocess.Popen(
                ["/bin/sh", "-c", JOB_FILE.format(command=job.command)],
                cwd=job.folder,
                env=settings,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        job.word, job.started, job.pending = "RUN", self.now(), ""
        self._note(job, f"Dispatched 1 Task(s) on Host(s) <{HOST}>, Allocated 1 Slot(s) on Host(s) <{HOST}>;")
        self._note(job, f"Starting (Pid {job.process.pid});")
        return True

    def requeue(self, job: FakeJob) -> None:
        """Put a running job back into the queue, as after the loss of its host."""
        self._signal(job, signal.SIGKILL)
        assert job.process is not None
        job.process.wait(10)
        job.process = None
        job.word, job.started = "PEND", 0.0
        self._note(job, "Job has been requeued;")

    def purge(self, job: FakeJob) -> None:
        self.live.remove(job)
        self.past.append(job)

    def reuse(self, number: int) -> FakeJob:
        """Give the id to another job of the same user, which runs."""
        for job in self.jobs_of(number):
            self.purge(job)
        other = FakeJob(number, US, "theirs", "sleep 600", self.make_folder(US, "theirs"), self.now())
        self.live.append(other)
        self.start(other)
        return other

    def say(self, number: int, word: str) -> None:
        for job in self.jobs_of(number):
            job.odd = word

    def close(self) -> None:
        """End every job's processes."""
        for job in [*self.live, *self.past]:
            if job.process is not None and job.process.poll() is None:
                self._signal(job, signal.SIGKILL)
                job.process.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _catch_up_with(self, job: FakeJob) -> None:
        if job.process is not None and not job.is_over:
            code = job.process.poll()
            if code is not None:
                self._end(job, -code if code < 0 else code << 8)
            elif job.limit is not None and self.now() >= job.started + job.limit and job.killing is None:
                job.term = "TERM_RUNLIMIT"
                self._signal(job, signal.SIGUSR2)
                job.killing = (time.monotonic() + GRACE, signal.SIGINT)
            elif job.killing is not None and time.monotonic() >= job.killing[0]:
                following = {signal.SIGINT: signal.SIGTERM, signal.SIGTERM: signal.SIGKILL}
                self._signal(job, job.killing[1])
                job.killing = (time.monotonic() + GRACE, following.get(signal.Signals(job.killing[1]), signal.SIGKILL))
        if job.is_over and self.now() > job.ended + self.clean_period:
            self.purge(job)

    def _end(self, job: FakeJob, status: int, *, killed: bool = False) -> None:
        job.status, job.ended = status, self.now()
        job.word = "DONE" if status == 0 and not killed else "EXIT"
        if job.process is not None:
            self._report(job)
        if job.word == "DONE":
            self._note(job, "Done successfully. The CPU time used is 0.1 seconds;")
            return
        job_killed = status & 0x7F
        how = f"by signal {job_killed}" if job_killed else f"with exit code {status >> 8}"
        self._note(job, f"Exited {how}. The CPU time used is 0.1 seconds;")
        if job.term:
            self._note(job, f"Completed <exit>; {job.term}: {REASONS[job.term]};")

    def _report(self, job: FakeJob) -> None:
        """Put LSF's report and what the job printed into its output file."""
        assert job.printed is not None
        printed = job.printed.read_bytes()
        job.printed.unlink()
        outfile = job.outfile.replace("%J", str(job.id)).replace("%I", str(job.index or 0))
        if not outfile:
            return
        killed = job.status & 0x7F
        lines = [
            f"Sender: LSF System <lsfadmin@{HOST}>",
            f"Subject: Job {job.own_id}: <{job.own_name}> in cluster <lab> {'Done' if job.word == 'DONE' else 'Exited'}",
            "",
            f"Job <{job.own_name}> was submitted from host <{HOST}> by user <{job.user}> in cluster <lab>.",
            "------------------------------------------------------------",
            "# LSBATCH: User input",
            job.command,
            "------------------------------------------------------------",
            "",
            *([f"{job.term}: {REASONS[job.term]}."] if job.term else []),
            "Successfully completed."
            if job.word == "DONE"
            else f"Exited with signal termination: {killed}."
            if killed
            else f"Exited with exit code {job.status >> 8}.",
            "",
            "The output (if any) follows:",
            "",
        ]
        with (job.folder / outfile).open("ab") as file:
            file.write("\n".join(lines).encode() + b"\n" + printed)

    @staticmethod
    def _signal(job: FakeJob, number: int) -> None:
        if job.process is not None and job.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(job.process.pid, number)

    def _note(self, job: FakeJob, event: str) -> None:
        job.events.append((self.now(), event))


REASONS = {
    "TERM_OWNER": "job killed by owner",
    "TERM_ADMIN": "job killed by root or LSF administrator",
    "TERM_RUNLIMIT": "job killed after reaching LSF run time limit",
    "TERM_MEMLIMIT": "job killed after reaching LSF memory usage limit",
    "TERM_PREEMPT": "job killed after preemption",
}
