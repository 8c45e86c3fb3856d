"""
Looking for a key: in LSF's list, then in its history.

An absence is told only where it is proven; whoever gets it may submit again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bascule.managers.lsf.center import Center
from bascule.managers.lsf.records import Record
from bascule.managers.lsf.reporting import Reporter
from bascule.managers.lsf.states import HELD, is_over, kind_of
from bascule.model import Absent, CannotTell, Found, Handle, Stray, belongs_to
from bascule.ports import Clock


class Finder:
    """Looks for keys at one Application Center. *held*: all submits there are held first."""

    def __init__(self, center: Center, reporter: Reporter, clock: Clock, *, held: bool, clean_period: float) -> None:
        self._center = center
        self._reporter = reporter
        self._clock = clock
        self._held = held
        self._clean_period = clean_period

    async def find(self, key: str, since: datetime, *, may_have_run: bool = False) -> Found | Absent | CannotTell:
        """Look for *key*; `Manager.find`."""
        now = self._clock.now()
        live, whole = await self._live(key)
        if live:
            full = await self._center.details(dict.fromkeys(record.id for record in live))
            ours = [record for record in full.records if record.key == key] or live
            return Found(tuple(await self._reporter.matches(ours, key)))
        past = await self._center.past_named(key)
        over = [record for record in past or () if record.key == key and is_over(record)]
        if over:
            return Found(tuple(await self._reporter.matches(over, key)))
        if not whole:
            return CannotTell(f"{self._center.where} does not tell of all jobs that it counts")
        if self._held and not may_have_run:
            return Absent("LSF's list has no such job, and a held one cannot have ended unseen", now)
        if (now - since).total_seconds() < self._clean_period:
            return Absent("LSF's list has no such job, and it cannot have forgotten it yet", now)
        return CannotTell("LSF may have forgotten it, and its history goes back only as far as its log")

    async def sweep(self, installation: str) -> Sequence[Stray]:
        """List what bears our keys; `Manager.sweep`."""
        listing = await self._center.named(f"*-{installation}-*")
        jobs: dict[tuple[str, str], list[Record]] = {}
        for record in listing.records:
            if belongs_to(record.key, installation):
                jobs.setdefault((record.key, record.id), []).append(record)
        return [
            Stray(
                key,
                Handle(number, key, min((part.submitted for part in parts if part.submitted), default=None)),
                held=all(kind_of(part) == HELD for part in parts),
                over=all(is_over(part) for part in parts),
            )
            for (key, number), parts in jobs.items()
        ]

    async def _live(self, key: str) -> tuple[list[Record], bool]:
        """Return LSF's jobs of that key, and whether it told of all."""
        listing = await self._center.named(key)
        ours = [record for record in listing.records if record.key == key]
        if ours:
            return ours, listing.whole
        # An array's name goes on behind the key; an absence has to be seen twice in any case.
        wider = await self._center.named(f"{key}*")
        return [record for record in wider.records if record.key == key], listing.whole and wider.whole
