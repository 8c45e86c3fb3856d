"""
Places where a test may kill this process with SIGKILL, as a crash would.

``BASCULE_FAILPOINT=local.accepted`` ends the process when it comes to that point,
``local.accepted:3`` when it comes there for the third time; several are separated by
commas. Unset, a point costs one look-up in an empty dict.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "BASCULE_FAILPOINT"


def _armed(text: str) -> dict[str, int]:
    points = {}
    for point in filter(None, text.split(",")):
        name, _, count = point.partition(":")
        points[name] = int(count or 1)
    return points


_ARMED = _armed(os.environ.get(VARIABLE, ""))


def failpoint(name: str) -> None:
    """Die here if *name* is armed and this is the visit that was asked for."""
    if name not in _ARMED:
        return
    _ARMED[name] -= 1
    if _ARMED[name] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
