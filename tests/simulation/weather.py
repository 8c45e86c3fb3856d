"""Faults between a manager and its server, by chance while the storm lasts; none afterwards."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fakes import faults
from tests.fakes.faults import Fault
from tests.simulation.story import Story

LOOKS = frozenset({"observe", "find", "probe", "sweep"})
"""Calls that change nothing."""


class SeededWeather:
    """What goes wrong with one process' calls."""

    def __init__(self, story: Story, luck: Random, now: Callable[[], float]) -> None:
        self._story = story
        self._luck = luck
        self._now = now
        self._alike = [faults.REFUSED, faults.UNAUTHORIZED, faults.HANGS, faults.REQUEST_LOST, faults.REPLY_LOST]
        if story.abilities.holds or story.abilities.key == "chosen":
            self._alike.append(faults.DOUBLED)

    def fault_of(self, call: str) -> Fault | None:
        """Return what goes wrong with this *call*."""
        luck = self._luck
        if self._now() > self._story.storm_until or luck.random() > self._story.storm:
            return None
        odd = [faults.busy(luck.uniform(1, 9)), faults.slow(luck.uniform(0, 40))]
        if call == "observe":
            odd += [faults.PARTIAL, faults.EMPTY, faults.UNCHANGED]
        if call not in LOOKS:
            odd.append(faults.late(luck.uniform(0, 50)))
        return luck.choice([*self._alike, *odd])
