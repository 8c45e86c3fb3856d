"""
The end of a job's processes, round by round: TERM, later KILL, until nobody is left.

A walk over the process table takes its time, and whoever forks quickly may be missed by
it. So an empty walk is believed only if the kernel agrees: the job's cgroup is empty,
and no process group that it was seen in exists any more.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence

from bascule.managers.local import cgroups
from bascule.managers.local.processes import Process, process, send
from bascule.managers.local.records import Birth

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
_ONE_BY_ONE = 0.2
"""The pause up to which processes are killed singly; what is left then forks faster than we count."""
_ZOMBIES_STAY = 2.0
"""Seconds after which a group that nobody is seen in is taken for zombies that nobody reaps."""


class Ending:
    """What was seen and done so far to end one job."""

    def __init__(self, groups: Sequence[str], session: int | None) -> None:
        self._cgroups = tuple(groups)
        self._groups = set() if session is None else {session}
        self._told: set[Birth] = set()
        self._pause = _FIRST_PAUSE
        self._empty_since: float | None = None

    def nobody_is_left(self, family: Sequence[Process], now: float) -> bool:
        """Tell whether the job has no processes any more, of which *family* was just seen."""
        self._groups.update(one.group for one in family)
        if family:
            self._empty_since = None
            return False
        if cgroups.is_populated(self._cgroups):
            return False
        if self._empty_since is None:
            self._empty_since = now
        return now - self._empty_since > _ZOMBIES_STAY or not any(map(_exists, self._groups))

    def ask(self, family: Sequence[Process]) -> None:
        """Send TERM, once to each."""
        new = [one.birth for one in family if one.birth not in self._told]
        self._told.update(new)
        # A stopped process takes note of TERM only once it goes on.
        send(new, signal.SIGTERM, signal.SIGCONT)

    def force(self, family: Sequence[Process]) -> float:
        """Send KILL; return after how long to look again."""
        send((one.birth for one in family), signal.SIGKILL)
        if self._pause > _ONE_BY_ONE:
            cgroups.kill(self._cgroups)
            _kill_groups(self._groups, {one.birth.pid for one in family})
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        return self._pause


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _kill_groups(groups: set[int], family: set[int]) -> None:
    """
    Kill whole process groups, which no fork outruns: the kernel lets none happen meanwhile.

    Whoever shares a group, and so a session, with a process of a job is of that job too:
    the session was made inside it. A leader that lives and is none of the job's is a
    stranger who was given the number anew.
    """
    for group in groups:
        leader = process(group)
        if leader is None or leader.is_dead or group in family:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
