"""
The end of our own hold: made once, and once more where nobody saw it arrive.

A manager that is restarted may forget a release of its last seconds, and that the job ran.
Where nothing would tell of that run it is not released again. After the second one, a
hold is its user's, however soon it was made.
"""

from __future__ import annotations

from datetime import datetime

from bascule.model import JobStatus, Phase
from bascule.ports import Abilities


def release_again_in(status: JobStatus, abilities: Abilities | None, now: datetime) -> float | None:
    """Return the seconds until a release that nobody saw arrive is made again; None where it was, or is not ours."""
    if (
        abilities is None
        or status.manager is None
        or status.released_at is None
        or not release_is_unseen(status, abilities)
    ):
        return None
    return abilities.settles - (now - status.released_at).total_seconds()


def release_is_unseen(status: JobStatus, abilities: Abilities | None) -> bool:
    """Tell whether the job was released by us and not seen without its hold since, nor can have run for all we know."""
    if abilities is not None and not abilities.recalls:
        return False
    ours = status.intent is not None and status.intent.held and not status.holding
    return ours and status.released_at is not None and status.phase is Phase.SUBMITTING
