"""
Bascule: one declarative job, run once on the right outside system, and brought home.

``connect`` opens the bridge; ``Job`` describes a job, ``load`` reads one from a file.
Everything is imported when it is first used, so that the command starts fast.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs the command a tenth of its start
if TYPE_CHECKING:
    from typing import Any

    from bascule.bridge import Bridge, BridgeJob, Result, connect
    from bascule.errors import Error, Mistake, Refused, Unavailable, Uncertain
    from bascule.model import Phase
    from bascule.spec import Job, load

__all__ = [
    "Bridge",
    "BridgeJob",
    "Error",
    "Job",
    "Mistake",
    "Phase",
    "Refused",
    "Result",
    "Unavailable",
    "Uncertain",
    "connect",
    "load",
]

_ROOMS = {
    "bascule.bridge": ("Bridge", "BridgeJob", "Result", "connect"),
    "bascule.errors": ("Error", "Mistake", "Refused", "Unavailable", "Uncertain"),
    "bascule.model": ("Phase",),
    "bascule.spec": ("Job", "load"),
}


def __getattr__(name: str) -> Any:
    import importlib

    for room, names in _ROOMS.items():
        if name in names:
            return getattr(importlib.import_module(room), name)
    raise AttributeError(f"module `bascule` has no attribute `{name}`")
