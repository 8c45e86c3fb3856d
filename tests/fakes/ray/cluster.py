"""
A fake Ray cluster: its table of jobs, their logs and packages. Jobs are moved by hand.

What it says and does is what a head of 2.60 was seen to; `tests/managers/ray` compares the two.
"""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

AGENT = "http://127.0.0.1:52365"
RUNTIME_ENV = {"working_dir", "env_vars", "pip", "uv", "conda", "py_modules", "excludes", "config", "image_uri"}
FIELDS = {
    "entrypoint": str,
    "submission_id": str,
    "runtime_env": dict,
    "metadata": dict,
    "entrypoint_num_cpus": (int, float),
    "entrypoint_num_gpus": (int, float),
    "entrypoint_memory": int,
    "entrypoint_resources": dict,
    "entrypoint_label_selector": dict,
}
WAITS = "Job has not started yet. It may be waiting for resources (CPUs, GPUs, memory, custom resources) to become available."


class Said(Exception):
    """An agent's or the head's own no: a status, and the last line of its traceback."""

    def __init__(self, status: int, words: str, *, by_agent: bool = False) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.by_agent = by_agent


@dataclass
class FakeJob:
    id: str
    entrypoint: str
    metadata: dict[str, str] | None
    runtime_env: dict[str, Any] | None
    submitted: float
    needs: bool = False
    status: str = "PENDING"
    message: str | None = None
    error_type: str | None = None
    ended: float | None = None
    exit_code: int | None = None
    agent: str | None = None
    log: bytes = b""
    stop_asked: bool = False
    is_poison: bool = False

    @property
    def is_over(self) -> bool:
        return self.status in {"SUCCEEDED", "FAILED", "STOPPED"}

    def details(self) -> dict[str, Any]:
        return {
            "type": "SUBMISSION",
            "job_id": None,
            "submission_id": self.id,
            "driver_info": None,
            "status": self.status,
            "entrypoint": self.entrypoint,
            "message": self.message,
            "error_type": self.error_type,
            "start_time": int(self.submitted * 1000),
            "end_time": None if self.ended is None else int(self.ended * 1000),
            "metadata": self.metadata,
            "runtime_env": self.runtime_env,
            "driver_agent_http_address": self.agent,
            "driver_node_id": None if self.agent is None else "3d21d633e516",
            "driver_exit_code": self.exit_code,
        }


@dataclass
class FakeCluster:
    now: Callable[[], float]
    jobs: dict[str, FakeJob] = field(default_factory=dict)
    packages: dict[str, bytes] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    crimes: list[str] = field(default_factory=list)
    uploads: int = 0
    session: str = "session_2026-11-30_12-00-00_000000_1"
    _sessions: Any = field(default_factory=lambda: itertools.count(2))

    def start_anew(self) -> None:
        """Be a new head at the same address, without a store of its own."""
        self.jobs.clear()
        self.packages.clear()
        self.session = f"session_2026-11-30_12-30-00_000000_{next(self._sessions)}"

    def submit(self, asked: dict[str, Any]) -> FakeJob:
        self._validate(asked)
        id_ = asked.get("submission_id") or f"raysubmit_{len(self.jobs)}"
        if "/" in id_ or " " in id_:
            self.crimes.append(f"the id {id_!r}, which poisons the list of a real head")
            self.jobs[id_] = FakeJob(id_, asked["entrypoint"], None, None, self.now(), is_poison=True)
            raise Said(500, f"FileNotFoundError: [Errno 2] No such file or directory: 'job-driver-{id_}.log'")
        if id_ in self.jobs:
            words = f"ValueError: Job with submission_id {id_} already exists. Please use a different submission_id."
            raise Said(400, words, by_agent=True)
        needs = any(asked.get(name) for name in FIELDS if name.startswith("entrypoint_"))
        job = FakeJob(id_, asked["entrypoint"], asked.get("metadata"), asked.get("runtime_env"), self.now(), needs)
        job.message = WAITS if needs else "Job has not started yet."
        job.log = b"2026-11-30 15:54:37,377\tINFO job_manager.py:581 -- Runtime env is setting up.\n"
        self.jobs[id_] = job
        return job

    def start(self, id_: str) -> None:
        """Let Ray have a place for a job, and begin it, or see that it is to be stopped."""
        job = self.jobs[id_]
        uri = str((job.runtime_env or {}).get("working_dir", ""))
        if uri.startswith("gcs://") and uri.removeprefix("gcs://") not in self.packages:
            words = f"OSError: Failed to download runtime_env file package {uri} from the GCS"
            self._end(job, "FAILED", f"runtime_env setup failed: Failed to set up runtime environment.\n{words}\n")
            job.error_type = "RUNTIME_ENV_SETUP_FAILURE"
            return
        job.agent = AGENT
        if job.stop_asked:
            self._end(job, "STOPPED", "Job was intentionally stopped.")
            return
        job.status, job.message = "RUNNING", "Job is currently running."
        job.log += f"Running entrypoint for job {id_}: {job.entrypoint}\n".encode()
        self.starts.append(id_)

    def finish(self, id_: str, *, exit_code: int) -> None:
        job = self.jobs[id_]
        job.exit_code = exit_code
        if exit_code == 0:
            self._end(job, "SUCCEEDED", "Job finished successfully.")
            return
        tail = "".join(f"{line}\n" for line in job.log.decode(errors="replace").splitlines()[-10:])
        words = f"Job entrypoint command failed with exit code {exit_code}, last available logs (truncated to 20,000 chars):"
        self._end(job, "FAILED", f"{words}\n{tail}")
        job.error_type = "JOB_ENTRYPOINT_COMMAND_ERROR"

    def stop(self, id_: str) -> bool:
        job = self.jobs[id_]
        if job.is_over:
            return False
        job.stop_asked = True
        # One that waits for resources has nobody yet who could hear of it.
        if not (job.status == "PENDING" and job.needs) and not job.is_poison:
            self._end(job, "STOPPED", "Job was intentionally stopped.")
        return True

    def delete(self, id_: str) -> None:
        job = self.jobs[id_]
        if not job.is_over:
            words = f"RuntimeError: Attempted to delete job '{id_}', but it is in a non-terminal state {job.status}."
            raise Said(500, words, by_agent=True)
        del self.jobs[id_]

    def lose_node(self, id_: str) -> None:
        job = self.jobs[id_]
        self._end(job, "FAILED", "Job supervisor actor died: The actor died unexpectedly before finishing this task.")
        job.error_type = "JOB_SUPERVISOR_ACTOR_DIED"

    def bring(self, name: str, data: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.testzip() is not None or any(path.startswith("/") for path in archive.namelist()):
                self.crimes.append(f"the package {name} cannot be unpacked as it should")
        self.uploads += 1
        self.packages[name] = data

    def text_of(self, job: FakeJob) -> str:
        """Return a log as Ray reads it: as text, with line ends of one kind."""
        if job.agent is None:
            return ""
        try:
            return io.TextIOWrapper(io.BytesIO(job.log), encoding="utf-8").read()
        except UnicodeDecodeError as error:
            raise Said(500, f"UnicodeDecodeError: {error}", by_agent=True) from error

    def _validate(self, asked: dict[str, Any]) -> None:
        if "entrypoint" not in asked:
            raise Said(
                400, "TypeError: JobSubmitRequest.__init__() missing 1 required positional argument: 'entrypoint'"
            )
        for name, value in asked.items():
            if name not in FIELDS:
                raise Said(400, f"TypeError: JobSubmitRequest.__init__() got an unexpected keyword argument '{name}'")
            if not isinstance(value, FIELDS[name]) or isinstance(value, bool):
                raise Said(400, f"TypeError: {name} must be another type, got {type(value)}")
        for name in ("metadata", "entrypoint_label_selector"):
            if any(not isinstance(value, str) for value in asked.get(name, {}).values()):
                raise Said(400, f"TypeError: {name} values must be strings")
        environment = asked.get("runtime_env", {})
        self.crimes += [f"`{name}` of runtime_env is ignored" for name in environment.keys() - RUNTIME_ENV]
        if any(not isinstance(value, str) for value in environment.get("env_vars", {}).values()):
            self.crimes.append("a variable that is no text")

    def _end(self, job: FakeJob, status: str, message: str) -> None:
        job.status, job.message, job.ended = status, message, self.now()
