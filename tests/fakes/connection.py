"""
The way between the fake manager and its server, on which things get lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from bascule.errors import Error, Refused, Unauthorized, Unavailable, Uncertain
from bascule.ports import Clock
from tests.fakes.faults import Faults, Weather
from tests.fakes.outside import Outside

T = TypeVar("T")


class Connection:
    """Carries requests: there, the effect, and back; each fault says what becomes of the three."""

    def __init__(
        self,
        outside: Outside,
        clock: Clock,
        *,
        weather: Weather | None = None,
        travel: float = 0.01,
        timeout: float = 30.0,
    ) -> None:
        self.outside = outside
        self.clock = clock
        self.faults = Faults()
        self.weather = weather or self.faults
        self.travel = travel
        self.timeout = timeout
        self.requests: Counter[str] = Counter()

    async def request(
        self,
        call: str,
        effect: Callable[[], T],
        *,
        changes: bool = False,
        bent: Callable[[str, T], T] | None = None,
    ) -> T:
        """
        Make one request of the kind *call*.

        *changes* says whether a silence leaves a doubt; *bent* what a strange answer looks like.
        """
        self.requests[call] += 1
        fault = self.weather.fault_of(call)
        kind = fault.kind if fault else ""
        seconds = fault.seconds if fault else 0.0
        await self.clock.sleep(self.travel)
        self._knock(call, kind, seconds)
        if kind == "late":
            self.outside.later(seconds, lambda: _and_tell_nobody(effect))
        if kind in {"request lost", "hangs", "late"}:
            await self._give_up(call, changes=changes)
        if kind == "slow":
            await self.clock.sleep(min(seconds, self.timeout))
            if seconds > self.timeout:
                raise _silence(call, self.timeout, changes=changes)
        instance = self.outside.instance
        answer = effect()
        if kind == "doubled":
            _and_tell_nobody(effect)
        if kind == "reply lost":
            await self._give_up(call, changes=changes)
        await self.clock.sleep(self.travel)
        if self.outside.is_down or self.outside.instance != instance:
            raise _silence(call, self.travel, changes=changes)
        return bent(kind, answer) if bent else answer

    def _knock(self, call: str, kind: str, seconds: float) -> None:
        """Raise where the server is not there, or does not let us in."""
        if kind == "refused" or self.outside.is_down:
            raise Unavailable(f"the fake manager refused the connection for `{call}`", hint="start it")
        if kind == "unauthorized" or self.outside.locked:
            raise Unauthorized(f"the fake manager did not accept the credentials for `{call}`", hint="renew them")
        if kind == "busy":
            raise Unavailable(f"the fake manager is too busy for `{call}`", retry_after=seconds)
        if kind == "rejected":
            raise Refused(f"the fake manager says no to `{call}`", hint="ask for something else")

    async def _give_up(self, call: str, *, changes: bool) -> None:
        await self.clock.sleep(self.timeout)
        raise _silence(call, self.timeout, changes=changes)


def _silence(call: str, seconds: float, *, changes: bool) -> Error:
    kind = Uncertain if changes else Unavailable
    return kind(f"the fake manager did not answer `{call}` within {seconds:g} s")


def _and_tell_nobody(effect: Callable[[], object]) -> None:
    with suppress(Error):
        effect()
