"""
Places where a test may kill this process with SIGKILL, as a crash would, or freeze it.

``BASCULE_FAILPOINT=local.accepted`` ends the process when it comes to that point,
``local.accepted:3`` when it comes there for the third time, ``local.accepted:3:stop`` stops
it there as Ctrl-Z would; several are separated by commas. Unset, a point costs one look-up
in an empty dict.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "BASCULE_FAILPOINT"


class _Point:
    """A point that is armed: visits that are left, and the signal."""

    def __init__(self, count: str, how: str) -> None:
        self.left = int(count or 1)
        self.signal = signal.SIGSTOP if how == "stop" else signal.SIGKILL


def _armed(text: str) -> dict[str, _Point]:
    points = {}
    for point in filter(None, text.split(",")):
        name, _, rest = point.partition(":")
        count, _, how = rest.partition(":")
        points[name] = _Point(count, how)
    return points


_ARMED = _armed(os.environ.get(VARIABLE, ""))


def failpoint(name: str) -> None:
    """Die, or freeze, here if *name* is armed and this is the visit that was asked for."""
    if name not in _ARMED:
        return
    point = _ARMED[name]
    point.left -= 1
    if point.left == 0:
        os.kill(os.getpid(), point.signal)
