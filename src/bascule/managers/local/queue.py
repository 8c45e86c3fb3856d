"""
The queue: who waits, in which order, and why the first of them cannot start.

Strictly first come, first served: a job that would fit does not overtake one that does
not, so that nothing waits for ever. Held jobs, those that ask for more than there is,
and arrays of which enough tasks run, stand aside. An array is in it once, for the next
of its tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from bascule.managers.local import slots
from bascule.managers.local.records import Capacity, Outline, State


class Waiting(NamedTuple):
    """A job that has not started."""

    outline: Outline
    state: State
    is_full: bool = False
    """Whether it is an array of which no more tasks may run at once."""

    @property
    def is_held(self) -> bool:
        """Tell whether somebody keeps it from starting."""
        return self.state.ours or self.state.users

    def as_wished(self, what: str, value: str) -> Waiting:
        """Return it as it is after a wish."""
        state = self.state
        match what:
            case "hold":
                state = replace(state, users=True, why="")
            case "unhold":
                state = replace(state, ours=False, users=False, why="")
            case "release":
                state = replace(state, ours=False, why="")
            case "walltime":
                state = replace(state, walltime=float(value))
        return self._replace(state=state)


class Queue:
    """The jobs of one home that have not started."""

    def __init__(self) -> None:
        self._capacity = Capacity()
        self._line: dict[str, Waiting] = {}
        self._aside: dict[str, Waiting] = {}

    def __len__(self) -> int:
        """Count all, held ones too."""
        return len(self._line) + len(self._aside)

    def __contains__(self, key: str) -> bool:
        """Tell whether a job waits."""
        return key in self._line or key in self._aside

    def get(self, key: str) -> Waiting | None:
        """Return the job *key*, if it waits."""
        return self._line.get(key) or self._aside.get(key)

    @property
    def capacity(self) -> Capacity:
        """How much may be used at once."""
        return self._capacity

    @capacity.setter
    def capacity(self, capacity: Capacity) -> None:
        if capacity == self._capacity:
            return
        self._capacity = capacity
        everyone = sorted((self._line | self._aside).values(), key=lambda one: (one.outline.at, one.outline.key))
        self._line.clear()
        self._aside.clear()
        for one in everyone:
            self.add(one)

    def add(self, waiting: Waiting, *, first: bool = False) -> None:
        """Put a job at the end of the line, in its own place where it is there already, or aside."""
        key = waiting.outline.key
        if waiting.is_held or waiting.is_full or slots.exceeds(waiting.outline.need, self._capacity):
            self._line.pop(key, None)
            self._aside[key] = waiting
            return
        self._aside.pop(key, None)
        if first and key not in self._line:
            self._line = {key: waiting} | self._line
        else:
            self._line[key] = waiting

    def explained(self, waiting: Waiting) -> None:
        """Keep a state that has changed in words only."""
        place = self._line if waiting.outline.key in self._line else self._aside
        place[waiting.outline.key] = waiting

    def remove(self, key: str) -> None:
        """Take a job out."""
        self._line.pop(key, None)
        self._aside.pop(key, None)

    def next(self, taken: Sequence[Capacity]) -> tuple[Waiting | None, str]:
        """Return the first in line, and what it waits for; empty where it may start."""
        if not self._line:
            return None, ""
        head = next(iter(self._line.values()))
        room = slots.free(self._capacity, taken)
        lacks = slots.lacking(head.outline.need, room)
        return head, f"waits for {' and '.join(lacks)}" if lacks else ""
