"""
What really happened outside: written by the fake outside world, read by the judges of tests.

Nothing in here is seen by the code under test, so it cannot agree with its own mistakes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from bascule.model import parts_of

What = Literal["submit", "release", "start", "restart", "end", "cancel", "killed", "purge", "forgotten", "signal"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened to one outside job, *at* the outside's seconds."""

    at: float
    what: What
    id: str
    key: str
    note: str = ""

    @property
    def attempt(self) -> int:
        """Return which attempt of its job this was; 0 for a stranger's."""
        parts = parts_of(self.key)
        return parts.attempt if parts else 0


@dataclass
class Ledger:
    """Every entry in the order in which it happened."""

    entries: list[Entry] = field(default_factory=list)

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over the entries, oldest first."""
        return iter(self.entries)

    def of(self, key: str, *whats: What) -> list[Entry]:
        """Return what happened to jobs that bear *key*."""
        return [entry for entry in self.entries if entry.key == key and (not whats or entry.what in whats)]

    def starts(self, key: str) -> list[Entry]:
        """Return each first start of a job that bears *key*; a requeued job counts once."""
        return self.of(key, "start")

    def doubles(self) -> dict[str, list[str]]:
        """Return the keys of ours under which more than one job started, with those jobs' ids."""
        ids = defaultdict(list)
        for entry in self.entries:
            if entry.what == "start" and entry.attempt:
                ids[entry.key].append(entry.id)
        return {key: found for key, found in ids.items() if len(found) > 1}

    def overlaps(self) -> list[tuple[str, str]]:
        """Return pairs of keys whose jobs, attempts of one job of ours, ran at the same time."""
        running: dict[tuple[str, str], str] = {}
        pairs = []
        for entry in self.entries:
            parts = parts_of(entry.key)
            if parts is None:
                continue
            mine = (parts.name + parts.installation + parts.uid_part, entry.id)
            if entry.what in {"start", "restart"}:
                pairs += [(key, entry.key) for (job, id_), key in running.items() if job == mine[0] and id_ != entry.id]
                running[mine] = entry.key
            elif entry.what in {"end", "killed"}:
                running.pop(mine, None)
        return pairs

    def assert_sound(self) -> None:
        """Fail where a key started twice, or two attempts of one job ran at once."""
        assert not self.doubles(), f"started more than once: {self.doubles()}"
        assert not self.overlaps(), f"attempts of one job ran at the same time: {self.overlaps()}"
