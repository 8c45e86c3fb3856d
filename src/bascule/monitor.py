"""
One poll for many jobs.

A monitor watches all live jobs of one connection (a target under one credential). It
asks for all of them in one request, at an interval that grows at rest and with the
manager's own slowness, and wakes the jobs of which there is news. A failed, partial or
empty answer is no news about a job: it only tells how the target is.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import NamedTuple, Protocol

from bascule.errors import Error, Unavailable
from bascule.journal import Logger
from bascule.model import Answer, Handle, JobStatus, ManagerView, Observation, Ref, Report, to_json
from bascule.ports import Abilities, Clock

LONGEST_SILENCE = 300.0
SLOWNESS = 10.0
"""The share of the manager's time that we take: at most one part in this many."""
log = Logger(__name__)


class Observe(Protocol):
    """`Manager.observe`, and nothing else of it."""

    async def __call__(self, handles: Sequence[Handle], cursor: str = "") -> Observation:
        """Ask for all *handles*."""


class _Tracked(NamedTuple):
    handle: Handle
    fingerprint: int


class Monitor:
    """Watches the live jobs of one connection."""

    def __init__(
        self,
        observe: Observe,
        abilities: Abilities,
        clock: Clock,
        *,
        wake: Callable[[Ref], None],
        heard: Callable[[Error | None], None],
        rest: float | None = None,
        luck: Random,
    ) -> None:
        self._observe = observe
        self._soon = min(abilities.poll_soon, rest) if rest else abilities.poll_soon
        self._rest = rest or abilities.poll_rest
        self._clock = clock
        self._wake = wake
        self._heard = heard
        self._luck = luck
        self._tracked: dict[Ref, _Tracked] = {}
        self._news: dict[Ref, Answer] = {}
        self._doubts: set[Ref] = set()
        self._joined = False
        self._cursor = ""
        self._interval = self._soon
        self._failures = 0
        self._took = 0.0
        self._hurry = asyncio.Event()
        self.polls = 0
        self.answered_at: float | None = None

    def __len__(self) -> int:
        """How many jobs are watched."""
        return len(self._tracked)

    def handles(self) -> dict[Ref, Handle]:
        """Return what is watched."""
        return {ref: tracked.handle for ref, tracked in self._tracked.items()}

    def track(self, ref: Ref, handle: Handle, status: JobStatus) -> None:
        """Watch *ref* from now on; what *status* says already is no news."""
        known = self._tracked.get(ref)
        if known is not None and known.handle == handle:
            return
        if known is not None:
            self.untrack(ref)
        self._tracked[ref] = _Tracked(handle, fingerprint_of(status))
        self._cursor = ""
        self._joined = True
        self.hurry()
        self._hurry.set()

    def untrack(self, ref: Ref) -> None:
        """Stop watching *ref*."""
        self._tracked.pop(ref, None)
        self._news.pop(ref, None)
        self._doubts.discard(ref)

    def news(self, ref: Ref) -> Answer | None:
        """Return the latest news of *ref* that was not yet taken in."""
        return self._news.get(ref)

    def taken_in(self, ref: Ref, answer: Answer) -> None:
        """Note that *answer* is on record."""
        if self._news.get(ref) == answer:
            del self._news[ref]

    def hurry(self) -> None:
        """Ask again soon: something was just asked of the manager. One that is silent is not hurried."""
        if self._failures:
            return
        self._interval = self._soon
        self._hurry.set()

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            while not self._tracked:
                self._hurry.clear()
                await self._hurry.wait()
            await self._pause()
            if self._tracked:
                await self.poll()

    async def poll(self) -> bool:
        """Ask once for everything that is watched; tell whether an answer came."""
        rounds = self._rounds()
        self._joined = False
        cursor = self._cursor if len(rounds) == 1 else ""
        began = self._clock.monotonic()
        self.polls += 1
        try:
            seen = [await self._observe([tracked.handle for _, tracked in asked.values()], cursor) for asked in rounds]
        except Error as trouble:
            self._failures += 1
            wait = trouble.retry_after if isinstance(trouble, Unavailable) and trouble.retry_after else 0.0
            self._interval = max(wait, min(self._soon * 2.0**self._failures, LONGEST_SILENCE))
            log.warning("monitor.silence", error=str(trouble), again_in=self._interval)
            self._heard(trouble)
            return False
        took = self._clock.monotonic() - began
        self._failures = 0
        self._cursor = seen[0].cursor if len(rounds) == 1 else ""
        self.answered_at = self._clock.monotonic()
        self._heard(None)
        moved = [self._take(asked, one) for asked, one in zip(rounds, seen, strict=True) if not one.unchanged]
        if self._doubts or self._joined:
            self._cursor = ""  # "nothing moved" would leave those in doubt, and those that came meanwhile, as they are
        # One slow look, as the first that reads everything, is no slow manager.
        self._adapt(min(took, self._took), moved=any(moved))
        self._took = took
        return True

    def _rounds(self) -> list[dict[str, tuple[Ref, _Tracked]]]:
        """
        Return what to ask for, by the manager's ids: all in one request, as a rule.

        A manager that has forgotten a job may have given its id to another of ours. Answers are
        by id, so the two are asked for apart.
        """
        rounds: list[dict[str, tuple[Ref, _Tracked]]] = [{}]
        for ref, tracked in self._tracked.items():
            for asked in rounds:
                if tracked.handle.id not in asked:
                    asked[tracked.handle.id] = (ref, tracked)
                    break
            else:
                rounds.append({tracked.handle.id: (ref, tracked)})
        return rounds

    def _take(self, asked: dict[str, tuple[Ref, _Tracked]], seen: Observation) -> bool:
        moved = False
        for outside_id, answer in seen.answers.items():
            if outside_id not in asked:
                continue
            ref, about = asked[outside_id]
            tracked = self._tracked.get(ref)
            if tracked is None or tracked.handle != about.handle:
                continue  # it was let go meanwhile, or is another attempt
            mark = fingerprint_of(answer)
            # An absence is told each time: how new it is decides what it proves.
            if isinstance(answer, Report):
                self._doubts.discard(ref)
                if mark == tracked.fingerprint:
                    continue
            else:
                self._doubts.add(ref)
            moved = moved or mark != tracked.fingerprint
            self._tracked[ref] = tracked._replace(fingerprint=mark)
            self._news[ref] = answer
            self._wake(ref)
        return moved

    def _adapt(self, took: float, *, moved: bool) -> None:
        wanted = self._soon if moved else min(self._interval * 1.5, self._rest)
        self._interval = max(wanted, min(took * SLOWNESS, LONGEST_SILENCE))

    async def _pause(self) -> None:
        """Wait for the interval; a hurry shortens it to the shortest one."""
        began = self._clock.monotonic()
        while True:
            self._hurry.clear()
            wait = self._interval * self._luck.uniform(0.9, 1.1) - (self._clock.monotonic() - began)
            if wait <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._hurry.wait()


def fingerprint_of(known: Answer | JobStatus) -> int:
    """Return a number that changes when what is known of a job does: the same for a status as for the report behind it."""
    if isinstance(known, JobStatus):
        view = known.manager
        if view is None:
            return 0
        parts: tuple[object, ...] = (
            view,
            known.reason if known.stop is None else "",
            known.message,
            known.exit_code,
            known.signal,
            known.tasks,
            False,
        )
    elif isinstance(known, Report):
        view = ManagerView(known.state, known.why, known.nodes, known.restarts, known.expected_start)
        message = known.explanation or known.state
        exit_code, signal = (known.exit_code, known.signal) if known.is_over else (None, None)
        parts = (view, known.reason, message, exit_code, signal, known.tasks, known.is_over)
    else:
        return -1
    return zlib.crc32(to_json(parts)) + 1
