"""A job of the fake outside world, and the course it takes by itself."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Course:
    """How a job goes by itself: seconds until it starts, and until it ends (None: by hand), and its end."""

    starts_after: float | None = 1.0
    runs_for: float | None = 10.0
    exit_code: int = 0
    signal: int | None = None
    word: str = ""
    output: bytes = b""


BY_HAND = Course(starts_after=None, runs_for=None)


@dataclass(slots=True, eq=False)
class OutsideJob:
    """A job as the cluster has it; moments are in the cluster's seconds."""

    id: str
    key: str
    owner: str
    submitted: float
    course: Course
    held: bool = False
    walltime: float | None = None
    state: str = "PENDING"
    started: float | None = None
    ended: float | None = None
    restarts: int = 0
    output: bytearray = field(default_factory=bytearray)
    word: str = ""
    released: float | None = None
    settled: float = 0.0
