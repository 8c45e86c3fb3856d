"""The exit codes, as docs/reference/exit-codes.md lists them: of errors, and of jobs."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from bascule.errors import Conflict, Error, Mistake, Refused, StoreFailed, Unavailable

if TYPE_CHECKING:  # the nouns take longer to import than `bascule --help` to run
    from bascule.bridge import Result
    from bascule.model import JobStatus


class Exit(IntEnum):
    """Codes that are no job's own."""

    SUCCEEDED = 0
    MISTAKE = 64
    REFUSED = 65
    UNAVAILABLE = 69
    BUG = 70
    LOST = 71
    TIMED_OUT = 72
    CANCELLED = 73
    TEMPORARY = 75
    STILL_WAITING = 76
    NOT_STARTED = 126  # as shells have it


BY_SIGNAL = 128
"""What is added to the number of a signal, as shells do."""

CLOSED_PIPE = BY_SIGNAL + 13
"""Nobody reads our output any more; 13 is SIGPIPE, which ends other programs then."""

_BY_REASON = {
    "TimedOut": Exit.TIMED_OUT,
    "Lost": Exit.LOST,
    "Refused": Exit.REFUSED,
    "NotAccepted": Exit.REFUSED,
    "TargetNotFound": Exit.REFUSED,
    "DependencyNotMet": Exit.REFUSED,
    # The place failed and not the job: the same again may well succeed.
    "NodeFailed": Exit.TEMPORARY,
    "Preempted": Exit.TEMPORARY,
}


def code_of_error(error: Error) -> int:
    """Return the code of a command that ends with *error*."""
    match error:
        case Mistake():
            return Exit.MISTAKE
        case Refused():
            return Exit.REFUSED
        case Conflict() | StoreFailed():
            return Exit.TEMPORARY
        case Unavailable():
            return Exit.UNAVAILABLE
    return Exit.TEMPORARY


def code_of_job(ended: Result | JobStatus) -> int:
    """Return the code of a command that followed a job to its end."""
    if ended.phase == "Succeeded":
        return Exit.SUCCEEDED
    if ended.phase == "Cancelled":
        return Exit.CANCELLED
    if ended.reason in _BY_REASON:
        return _BY_REASON[ended.reason]
    if ended.tasks is not None:
        return 1  # of an array, whose tasks have a code each
    if ended.signal:
        return BY_SIGNAL + ended.signal
    if ended.exit_code:
        return ended.exit_code
    return Exit.NOT_STARTED if ended.reason == "StartFailed" else 1
