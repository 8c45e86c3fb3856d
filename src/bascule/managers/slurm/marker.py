"""What the wrapper left in the shared folder: who started, and how it ended."""

from __future__ import annotations

import re
from typing import NamedTuple

from bascule.managers.slurm.description import marks_in
from bascule.managers.slurm.folder import exists, read_small
from bascule.managers.slurm.states import time_of
from bascule.model import Phase, Reason, Report, Source

_START = re.compile(r"(\d+) (\d+) (\d+) (\d+) \.\n")
_RESULT = re.compile(r"(\d+) (\d+) (\d+) (\d+) (\d+) \.\n")


class Marker(NamedTuple):
    """One run, as its wrapper noted it. *ended* is None while it runs, and where it was killed."""

    job: int
    restarts: int
    started: int
    walltime: int
    ended: int | None = None
    exit_code: int = 0
    signal: int = 0


def marker_of(root: str, key: str, task: int = 0) -> Marker | None:
    """Return what the wrapper of *key* wrote; None where it never began."""
    folder = marks_in(root, key)
    start = _START.fullmatch(read_small(root, f"{folder}/start.{task}"))
    if start is None:
        return None
    marker = Marker(*(int(part) for part in start.groups()))
    result = _RESULT.fullmatch(read_small(root, f"{folder}/result.{task}"))
    if result is None:
        return marker
    _, _, ended, code, signal = (int(part) for part in result.groups())
    return marker._replace(ended=ended, exit_code=code, signal=signal)


def never_began(root: str, key: str) -> bool:
    """Tell whether no job of *key*, nor a task of it, ever began: the wrapper's first act is to make the folder."""
    return exists(root, "") and not exists(root, marks_in(root, key))


def has_begun(root: str, key: str) -> bool:
    """Tell whether a job of *key* began."""
    return exists(root, marks_in(root, key))


def report_from(marker: Marker) -> Report | None:
    """Return what a marker says of a job that Slurm no longer knows; None where it has no end."""
    if marker.ended is None:
        return None
    code, signal = marker.exit_code, marker.signal
    timed_out = bool(signal and marker.walltime and marker.ended - marker.started >= marker.walltime)
    if timed_out:
        phase, reason, words = Phase.FAILED, str(Reason.TIMED_OUT), "reached its walltime"
    elif signal:
        phase, reason, words = Phase.FAILED, str(Reason.SIGNAL), f"was ended by signal {signal}"
    elif code:
        phase, reason, words = Phase.FAILED, str(Reason.EXIT_CODE), f"ended with exit code {code}"
    else:
        phase, reason, words = Phase.SUCCEEDED, "", "completed"
    return Report(
        phase=phase,
        state="MARKED",
        reason=reason,
        explanation=words,
        exit_code=None if signal else code,
        signal=signal or None,
        restarts=marker.restarts,
        started_at=time_of(marker.started),
        finished_at=time_of(marker.ended),
        source=Source.MARKER,
    )
