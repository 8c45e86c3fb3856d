"""How far a job has come: the nouns of `status`, and its history."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from bascule.model.outside import Handle, Tasks
from bascule.model.phase import Phase, Source
from bascule.model.spec import Noun
from bascule.model.units import Duration


class ManagerView(Noun, frozen=True):
    """The manager's own words about the job."""

    state: str = ""
    reason: str = ""
    nodes: tuple[str, ...] = ()
    restarts: int = 0
    expected_start: datetime | None = None


class StopCause(StrEnum):
    """Why we stop a job that lives outside."""

    CANCEL = "Cancel"
    DELETE = "Delete"
    SUSPEND = "Suspend"
    QUEUED_TOO_LONG = "QueuedTooLong"
    RAN_TOO_LONG = "RanTooLong"


class Stop(Noun, frozen=True):
    """A stop under way: why, since when, and when the manager was last asked."""

    cause: StopCause
    since: datetime
    asked_at: datetime | None = None
    tries: int = 0


class Condition(Noun, frozen=True):
    """A standard Kubernetes condition."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int | None = None


class StoredFile(Noun, frozen=True):
    """A result that was brought home."""

    path: str
    bytes: int
    sha256: str = ""
    store: str = ""
    key: str = ""


class Attempt(Noun, frozen=True):
    """How an earlier attempt ended."""

    attempt: int
    key: str
    id: str | None = None
    phase: Phase = Phase.FAILED
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    signal: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    tasks: Tasks | None = None
    place: str = ""


class Intent(Noun, frozen=True):
    """
    The durable will to submit: saved before the manager is asked.

    *at* is when it was first saved, *asked_at* when the manager was last asked, *tries* how often;
    *held* whether the job is submitted held and must be released, *instance* the run of
    a forgetful manager that was to be asked. *earlier* is how many earlier attempts are still
    to be looked for, where the record was lost.
    """

    at: datetime
    asked_at: datetime
    held: bool = False
    tries: int = 1
    instance: str = ""
    earlier: int = 0


class JobStatus(Noun, frozen=True):
    """How far a job has come."""

    phase: Phase = Phase.PENDING
    reason: str = ""
    message: str = ""
    id: str | None = None
    key: str = ""
    attempt: int = 0
    exit_code: int | None = None
    signal: int | None = None
    manager: ManagerView | None = None
    observed_at: datetime | None = None
    observed_by: Source | None = None
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    tasks: Tasks | None = None
    outputs: tuple[StoredFile, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    # What the next pass must know, whichever process makes it.
    intent: Intent | None = None
    handle: Handle | None = None
    released_at: datetime | None = None
    stop: Stop | None = None
    holding: bool = False
    warned_at: datetime | None = None
    walltime: Duration | None = None
    unknown_since: datetime | None = None
    queued_since: datetime | None = None
    not_before: datetime | None = None
    retries: int = 0
    # The target's address that the attempt was submitted to; empty where that is not known.
    address: str = ""
    # What stood here was lost, or changed by somebody else: look outside before anything.
    is_doubtful: bool = False


class Event(Noun, frozen=True):
    """One thing that happened to a job, for the person who asks what and why; *count* times, last at *at*."""

    at: datetime
    reason: str
    message: str
    type: Literal["Normal", "Warning"] = "Normal"
    count: int = 1
