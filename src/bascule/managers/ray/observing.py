"""
Watching: one list for many jobs, single questions where those are cheaper.

The head reads its whole table for a list, and has no filter: where it holds far more jobs than
are asked for, or more than is taken in one answer, they are asked for one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bascule.clients.faults import Oversized
from bascule.managers.ray.head import Head
from bascule.managers.ray.states import report_of
from bascule.managers.ray.wire import Details
from bascule.model import Absent, Answer, Handle, Observation
from bascule.ports import Clock

CROWDED = 50
"""How many jobs of others to one of ours make single questions the cheaper way."""
MOST_SINGLE = 32
"""Jobs that are asked for one by one at a time; the others come next time."""
NO_LIST_FOR = 600.0
"""Seconds for which a list that was too large is not asked for again."""
MOST_STOPS = 10_000


class Observer:
    """Watches jobs at one head."""

    def __init__(self, head: Head, clock: Clock) -> None:
        self._head = head
        self._clock = clock
        self._crowd = 0
        self._no_list_until = float("-inf")
        self._next = 0
        self._stops: dict[str, None] = {}

    def note_stop(self, id_: str) -> None:
        """Remember that Ray said it stopped a job, which it may keep waiting all the same."""
        self._stops[id_] = None
        if len(self._stops) > MOST_STOPS:
            del self._stops[next(iter(self._stops))]

    async def observe(self, handles: Sequence[Handle]) -> Observation:
        """Ask for all *handles*."""
        as_of = self._clock.now()
        if not handles:
            return Observation(as_of)
        found = await self._found(handles)
        covered = [handle for handle in handles if handle.id in found]
        instance = ""
        if not all(_is_ours(found[handle.id], handle) for handle in covered):
            instance = (await self._head.session(fresh=True)).name  # after the look: an absence is of no earlier run
        answers = {handle.id: self.answer(found[handle.id], handle, as_of, instance) for handle in covered}
        return Observation(as_of, answers)

    def answer(self, details: Details | None, handle: Handle, as_of: datetime, instance: str) -> Answer:
        """Say what *details* mean for *handle*."""
        if details is None:
            return Absent(self._evidence(handle, instance), as_of, instance)
        if not _is_ours(details, handle):
            return Absent("its id is another's job there", as_of, instance)
        return report_of(details, stop_asked=handle.id in self._stops)

    def _evidence(self, handle: Handle, instance: str) -> str:
        if handle.instance and instance and handle.instance != instance:
            return f"the head was started anew ({instance}), and has forgotten the jobs of {handle.instance}"
        return f"{self._head.where} has no such job"

    async def _found(self, handles: Sequence[Handle]) -> dict[str, Details | None]:
        now = self._clock.monotonic()
        is_few = len(handles) <= MOST_SINGLE and len(handles) * CROWDED < self._crowd
        if len(handles) > 1 and not is_few and now >= self._no_list_until:
            try:
                listed = await self._head.jobs()
            except Oversized:
                self._no_list_until = now + NO_LIST_FOR
            else:
                self._crowd = len(listed.jobs)
                unseen = [] if listed.is_whole else [handle for handle in handles if handle.id not in listed.jobs]
                told = {handle.id: listed.jobs.get(handle.id) for handle in handles}
                for handle in unseen:
                    del told[handle.id]
                return told | await self._one_by_one(unseen)
        return await self._one_by_one(handles)

    async def _one_by_one(self, handles: Sequence[Handle]) -> dict[str, Details | None]:
        """Ask for as many of *handles* as is right in one go; the others come next time."""
        start = self._next % max(1, len(handles))
        chosen = [*handles[start:], *handles[:start]][:MOST_SINGLE]
        self._next = start + len(chosen)
        return {handle.id: await self._head.job(handle.id) for handle in chosen}


def _is_ours(details: Details | None, handle: Handle) -> bool:
    return details is not None and details.belongs_to(handle.key)
