"""What managers want of jobs, left for the supervisor as empty files: ``KEY.WISH``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Wish(NamedTuple):
    """What somebody wants of a job, or of a task; *name* is the file that says so."""

    key: str
    what: str
    name: str


class Wishes:
    """The wishes of one home."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def leave(self, key: str, what: str, *, instead_of: str = "") -> None:
        """Leave a wish for the supervisor; the last of two that contradict each other counts."""
        if instead_of:
            (self.place / f"{key}.{instead_of}").unlink(missing_ok=True)
        descriptor = os.open(self.place / f"{key}.{what}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.close(descriptor)

    def is_left(self, key: str, what: str) -> bool:
        """Tell whether a wish has not been seen to."""
        return (self.place / f"{key}.{what}").exists()

    def read(self) -> list[Wish]:
        """Return all wishes, new orders first, and none without those that were left before it."""
        before: set[str] = set()
        names = self._listed()
        while names - before:  # one listing may miss a file and still have a later one; the next has both
            before, names = names, self._listed()
        wishes = [Wish(key, what, name) for name in names for key, _, what in (name.partition("."),)]
        return sorted(wishes, key=lambda wish: (wish.what != "new", wish))

    def _listed(self) -> set[str]:
        with os.scandir(self.place) as entries:
            return {entry.name for entry in entries}

    def grant(self, wish: Wish) -> None:
        """Take a wish away, after it has been seen to."""
        (self.place / wish.name).unlink(missing_ok=True)
