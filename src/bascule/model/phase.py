"""Where a job stands, and why: the words of `status.phase`, `status.reason` and `status.observedBy`."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """Where a job stands. Final phases are never left."""

    PENDING = "Pending"
    SUBMITTING = "Submitting"
    QUEUED = "Queued"
    HELD = "Held"
    RUNNING = "Running"
    UNKNOWN = "Unknown"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"

    @property
    def is_final(self) -> bool:
        """Tell whether nothing can follow."""
        return self in _FINAL


_FINAL = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED})


class Reason(StrEnum):
    """Why a job stands where it stands. A status may carry other CamelCase words; these are the ones we give."""

    NONE = ""
    # Failed
    EXIT_CODE = "ExitCode"
    SIGNAL = "Signal"
    TIMED_OUT = "TimedOut"
    OUT_OF_MEMORY = "OutOfMemory"
    NODE_FAILED = "NodeFailed"
    PREEMPTED = "Preempted"
    LOST = "Lost"
    REFUSED = "Refused"
    DEPENDENCY_NOT_MET = "DependencyNotMet"
    START_FAILED = "StartFailed"
    # Pending
    NOT_ACCEPTED = "NotAccepted"
    TARGET_NOT_FOUND = "TargetNotFound"
    TARGET_UNREACHABLE = "TargetUnreachable"
    TARGET_FULL = "TargetFull"
    WAITING_FOR_JOB = "WaitingForJob"
    SUSPENDED = "Suspended"
    RETRYING = "Retrying"
    # any live phase
    CANCELLING = "Cancelling"
    STOPPING = "Stopping"
    SUBMIT_UNCERTAIN = "SubmitUncertain"
    CANNOT_TELL = "CannotTell"


RETRYABLE = frozenset(
    {
        Reason.NODE_FAILED,
        Reason.PREEMPTED,
        Reason.LOST,
        Reason.TIMED_OUT,
        Reason.OUT_OF_MEMORY,
        Reason.EXIT_CODE,
        Reason.SIGNAL,
        Reason.START_FAILED,
    }
)
"""What `retry.reasons` may name: ends that a further attempt could change."""


class Source(StrEnum):
    """Where an observation comes from, strongest first."""

    LIVE = "live"
    HISTORY = "history"
    MARKER = "marker"
    INFERRED = "inferred"
