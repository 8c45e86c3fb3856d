"""
The manager ``local``: a small resource manager of its own, for this machine.

``manager`` is the port; it writes orders and wishes into the ``spool`` and reads states
from it. ``supervisor`` is a process of its own that takes them up, holds the queue and
starts jobs inside a ``wrapper``, which outlives everybody. Start reading in ``spool``
for who writes which file, in ``supervisor`` for the order of events.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from bascule.model import Target
from bascule.ports import Abilities, Manager

abilities = Abilities(
    key="chosen",
    holds=True,
    history=True,
    arrays=True,
    hold=True,
    signal=True,
    update_walltime=True,
    output=True,
    warns=True,
    here=True,
    settles=0.0,
    poll_soon=0.1,
    poll_rest=1.0,
)


class Place(Protocol):
    """What this manager needs of the place it is used in."""

    @property
    def home(self) -> Path:
        """Return the folder for what must outlive the process."""


def connect(target: Target, namespace: str, place: Place) -> Manager:
    """Return the manager of *target*; raise `Mistake` where its options are wrong."""
    from bascule.managers.local.manager import LocalManager

    return LocalManager(place.home, target.spec.options)
