"""
How a job ended: the verdict over what was found.

Pure. What we did to a job wins over what it made of it: a job that we cancelled is
cancelled, one that we ended at its walltime timed out, whatever its exit code.
"""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from bascule.managers.local.records import CANCEL, WALLTIME, End, Result
from bascule.model import Duration, Phase, Reason, Source

_QUIET = frozenset({signal.SIGINT, signal.SIGPIPE})
"""Deaths of which neither dash nor bash says a word, so that they look like an exit code."""


class Evidence(NamedTuple):
    """
    What is known of a job of which nothing runs any more.

    *result* is what its wrapper left, *status* (of ``waitpid``) what we saw ourselves;
    *began* whether the program was started, *failed* the exit status of a shell that could
    not execute it. *kills* counts memory kills in its cgroup, *kills_around* on the machine.
    """

    result: Result | None = None
    status: int | None = None
    began: bool = True
    failed: int | None = None
    cause: str = ""
    restarted: bool = False
    walltime: float | None = None
    kills: int = 0
    kills_around: int = 0
    limited: bool = False
    counted: bool = False
    said: str = ""


def judge(seen: Evidence) -> End:
    """Return how the job ended."""
    code, number, inferred = _exit(seen)
    if seen.cause == CANCEL:
        return End(Phase.CANCELLED, "", "cancelled", code, number)
    if seen.cause == WALLTIME:
        limit = Duration(seconds=round(seen.walltime or 0, 3))
        return End(Phase.FAILED, Reason.TIMED_OUT, f"ended at its walltime of {limit}", code, number)
    if seen.failed is not None:
        why = {126: "it is not executable", 127: "it, or what its `#!` line names, was not found"}
        return _failed(
            Reason.START_FAILED, f"could not start: {why.get(seen.failed, 'the shell could not run it')}", code
        )
    if code == 0:
        return End(Phase.SUCCEEDED, "", "exit code 0", 0)
    if code is None and number is None:
        return _lost(seen)
    if seen.kills:
        what = "for using more memory than it asked for" if seen.limited else "while the machine was out of memory"
        return _failed(Reason.OUT_OF_MEMORY, f"killed {what}", code, number)
    if number == signal.SIGKILL and seen.kills_around and not seen.counted:
        words = "killed by SIGKILL (9) while the machine was out of memory"
        return _failed(Reason.OUT_OF_MEMORY, words, code, number, inferred=True)
    if number is not None:
        return _failed(Reason.SIGNAL, f"killed by {named(number)}", code, number, inferred=inferred)
    return _failed(Reason.EXIT_CODE, f"exit code {code}", code)


def named(number: int) -> str:
    """Write a signal as people do: ``SIGKILL (9)``."""
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return f"signal {number}"


def source_of(end: End) -> Source:
    """Say how an end is known."""
    return Source.INFERRED if end.inferred else Source.MARKER


def _exit(seen: Evidence) -> tuple[int | None, int | None, bool]:
    """Return exit code, signal, and whether which of the two it was is a guess."""
    if seen.result is None:
        if seen.status is None:
            return None, None, False
        code = os.waitstatus_to_exitcode(seen.status)
        return (None, -code, False) if code < 0 else (code, None, False)
    code, said = seen.result
    if code <= 128:
        return code, None, False
    if said:
        return None, code - 128, False
    if code - 128 in _QUIET:
        return None, code - 128, True
    return code, None, False


def _failed(
    reason: Reason, words: str, code: int | None = None, number: int | None = None, *, inferred: bool = False
) -> End:
    return End(Phase.FAILED, reason, words, code, number, inferred)


def _lost(seen: Evidence) -> End:
    if seen.restarted:
        return _failed(Reason.LOST, "the machine was restarted while the job ran")
    if not seen.began:
        words = f"could not start: {seen.said}" if seen.said else "ended before its program was started"
        return _failed(Reason.START_FAILED, words)
    return _failed(Reason.LOST, "its wrapper was killed from outside, so its result is not known")
