"""
Before the machine's other work: both sides of a figure and the servers between them, alike.

Where other people's work takes the processors, what is measured is how the kernel shares
them out: Linux by sessions (``autogroup``, see sched(7)), so that a server with a
session of its own gets more than the two programs that ask it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

LEVEL = -20
"""A nice value: the lower the sooner; as root only."""
_wanted: list[bool] = []


def want() -> None:
    """Go ahead from now on, with all that is started."""
    _wanted.append(True)
    go()


def go() -> None:
    """Let this process and all that descends from it go ahead, where that is wanted."""
    for process in _family(os.getpid()) if _wanted else ():
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process, LEVEL)
        with suppress(OSError):
            Path(f"/proc/{process}/autogroup").write_text(str(LEVEL))


def _family(first: int) -> list[int]:
    children: dict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            children[parent].append(int(folder.name))
    family = [first]
    for process in family:
        family += children[process]
    return family
