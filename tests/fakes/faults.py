"""
What can go wrong between a manager's adapter and its server, one fault per call.

Each is named for what the network or the server does, not for what the caller sees:
that is the fake manager's business, as it is a real one's.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Literal, NamedTuple, Protocol

ANY = "*"

Kind = Literal[
    "refused",  # nobody listens: nothing happened
    "request lost",  # sent, never arrived
    "reply lost",  # it happened, nobody was told
    "late",  # the caller has given up by the time it happens
    "unauthorized",
    "busy",  # 429: come back after `seconds`
    "rejected",  # the server's own no
    "slow",  # answered after `seconds`
    "doubled",  # some box on the way sends it twice
    "hangs",  # no answer until the caller's own time-out
    "partial",  # an observation of the first half only
    "empty",  # an observation of nothing
    "unchanged",  # an observation that says nothing moved
]


class Fault(NamedTuple):
    """One thing that goes wrong with one call."""

    kind: Kind
    seconds: float = 0.0


REFUSED = Fault("refused")
REQUEST_LOST = Fault("request lost")
REPLY_LOST = Fault("reply lost")
UNAUTHORIZED = Fault("unauthorized")
REJECTED = Fault("rejected")
DOUBLED = Fault("doubled")
PARTIAL = Fault("partial")
EMPTY = Fault("empty")
UNCHANGED = Fault("unchanged")
HANGS = Fault("hangs")


def late(seconds: float) -> Fault:
    """Let the call take effect so many *seconds* after it was made."""
    return Fault("late", seconds)


def busy(seconds: float) -> Fault:
    """Let the server ask to be left alone for so many *seconds*."""
    return Fault("busy", seconds)


def slow(seconds: float) -> Fault:
    """Let the server think for so many *seconds*."""
    return Fault("slow", seconds)


class Weather(Protocol):
    """Where a manager's faults come from: a test's list, or a simulation's seed."""

    def fault_of(self, call: str) -> Fault | None:
        """Return what goes wrong with this *call*."""


class Faults:
    """Faults as a test orders them: for the next calls of a kind, or for all until further notice."""

    def __init__(self) -> None:
        self._next: dict[str, deque[Fault | None]] = defaultdict(deque)
        self._always: dict[str, Fault] = {}

    def next(self, call: str, *faults: Fault | None) -> None:
        """Let the next calls of this kind meet *faults*, one each; None is a call that goes well."""
        self._next[call].extend(faults)

    def always(self, call: str, fault: Fault) -> None:
        """Let every *call* (`ANY`: of every kind) meet *fault* from now on."""
        self._always[call] = fault

    def clear(self) -> None:
        """Let everything go well again."""
        self._next.clear()
        self._always.clear()

    def fault_of(self, call: str) -> Fault | None:
        """Return what goes wrong with this *call*."""
        for line in (self._next[call], self._next[ANY]):
            if line:
                return line.popleft()
        return self._always.get(call) or self._always.get(ANY)
