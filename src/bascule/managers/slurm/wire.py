"""
What slurmrestd sends, decoded: the fields we use, and nothing else.

Tolerant by design. The same field is a number in one version and ``{set, infinite,
number}`` in the next, a state is a word or a list of words, and some releases write
``NaN``. ``records`` turns these into one form.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

NO_VALUE = {0xFFFF, 0xFFFE, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFE}
"""How versions before v0.0.40 write "none" and "infinite" in fields of 16, 32 and 64 bits."""


class Wire(msgspec.Struct, gc=False):
    """Something that slurmrestd sends."""


class Number(Wire):
    """A number that may be none or infinite; since v0.0.39."""

    set: bool = False
    infinite: bool = False
    number: float | None = None


Num = Number | int | float | str | None
Words = str | list[str] | None


class Signal(Wire):
    """The signal that ended something."""

    id: Num = None
    signal_id: Num = None
    name: str | None = None


class ExitCode(Wire):
    """How a job's script ended; v0.0.38 gives a live job's as the number that ``wait`` returned."""

    status: Words = None
    return_code: Num = None
    signal: Signal | None = None
    set: bool = False
    number: float | None = None


class Trouble(Wire):
    """An entry of ``errors`` or ``warnings``."""

    description: str | None = None
    error: str | None = None
    error_number: Num = None
    error_code: Num = None
    source: str | None = None

    @property
    def code(self) -> int | None:
        """Slurm's own number of the error."""
        found = integer(self.error_number)
        return found if found is not None else integer(self.error_code)

    @property
    def words(self) -> str:
        """Slurm's own words, the telling part first."""
        parts = [part for part in (self.error, self.description) if part]
        return ": ".join(dict.fromkeys(parts))


class LiveJob(Wire):
    """A job as slurmctld knows it."""

    job_id: int
    name: str | None = None
    user_name: str | None = None
    job_state: Words = None
    state_reason: str | None = None
    state_description: str | None = None
    exit_code: ExitCode | int | None = None
    submit_time: Num = None
    start_time: Num = None
    end_time: Num = None
    nodes: str | None = None
    restart_cnt: Num = None
    hold: bool | None = None
    priority: Num = None
    array_job_id: Num = None
    array_task_id: Num = None
    array_task_string: str | None = None
    comment: str | None = None
    standard_output: str | None = None
    standard_error: str | None = None
    current_working_directory: str | None = None
    failed_node: str | None = None
    partition: str | None = None


class PastState(Wire):
    """A finished job's state."""

    current: Words = None
    reason: str | None = None


class PastTimes(Wire):
    """A finished job's times."""

    submission: Num = None
    start: Num = None
    end: Num = None


class PastArray(Wire):
    """A finished job's place in its array; *task* is a bit map of tasks that never started."""

    job_id: Num = None
    task_id: Num = None
    task: str | None = None


class PastComment(Wire):
    """A finished job's comments."""

    job: str | None = None


class PastStep(Wire):
    """A step; v0.0.38 tells a job's exit code only here."""

    exit_code: ExitCode | None = None


class PastJob(Wire):
    """A job as slurmdbd knows it."""

    job_id: int
    name: str | None = None
    user: str | None = None
    state: PastState | None = None
    exit_code: ExitCode | None = None
    time: PastTimes | None = None
    nodes: str | None = None
    restart_cnt: Num = None
    kill_request_user: str | None = None
    array: PastArray | None = None
    comment: PastComment | None = None
    stdout: str | None = None
    stderr: str | None = None
    working_directory: str | None = None
    failed_node: str | None = None
    steps: list[PastStep] = []


class BriefJob(Wire):
    """A job's id and state alone; ``82_1`` is the task 1 whose own id is 82."""

    job_id: str
    state: Words = None


class Ping(Wire):
    """One slurmctld, or slurmdbd."""

    hostname: str | None = None
    ping: str | None = None
    responding: bool | None = None

    @property
    def answers(self) -> bool:
        """Tell whether it does."""
        return self.responding if self.responding is not None else self.ping == "UP"


class Release(Wire):
    """Which Slurm this is."""

    release: str | None = None
    cluster: str | None = None


class Meta(Wire):
    """What slurmrestd says of itself; v0.0.38 writes it large."""

    slurm: Release | None = None
    Slurm: Release | None = None


class DeletedJob(Wire):
    """What became of one job of a DELETE; since v0.0.40."""

    class Error(Wire):
        """Slurm's own number and words."""

        code: Num = None
        string: str | None = None
        message: str | None = None

    error: Error | None = None


class Partition(Wire):
    """A partition's name."""

    name: str | None = None


class Statistics(Wire):
    """What slurmctld counts: its own time, and what it has not yet told slurmdbd."""

    req_time: Num = None
    dbd_agent_queue_size: Num = None


class Envelope(Wire):
    """What every answer has around its matter."""

    errors: list[Trouble] = []
    warnings: list[Trouble] = []
    meta: Meta | None = None
    job_id: Num = None
    status: list[DeletedJob] | str | None = None
    pings: list[Ping] = []
    last_update: Num = None


class LiveJobs(Wire):
    """An answer with live jobs."""

    jobs: list[LiveJob] = []


class PastJobs(Wire):
    """An answer with jobs of the history."""

    jobs: list[PastJob] = []


class BriefJobs(Wire):
    """An answer with states."""

    jobs: list[BriefJob] = []


class Partitions(Wire):
    """An answer with partitions."""

    partitions: list[Partition] = []


class Diagnosis(Wire):
    """An answer with statistics."""

    statistics: Statistics | None = None


def decode(body: bytes, wanted: type[T]) -> T:
    """Read *body*; raise `ValueError` where it is none."""
    try:
        return msgspec.json.decode(body, type=wanted)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Some releases write NaN and Infinity, which only Python's own reader knows.
        try:
            plain: Any = json.loads(body)
        except RecursionError as deep:
            raise ValueError("nested too deeply") from deep
        return msgspec.convert(plain, wanted)


def integer(value: Num) -> int | None:
    """Return *value* as a number; None where it is none, infinite or not given."""
    if isinstance(value, Number):
        value = value.number if value.set and not value.infinite else None
    if isinstance(value, str):
        value = int(value) if value.isdecimal() else None
    if value is None or not math.isfinite(value) or int(value) in NO_VALUE:
        return None
    return int(value)


def words(value: Words) -> tuple[str, ...]:
    """Return a word, or a list of words, as a list of words."""
    if value is None:
        return ()
    return tuple(value.split(",")) if isinstance(value, str) else tuple(value)
