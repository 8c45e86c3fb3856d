"""
Forwarding what a job writes, while it writes it: each stream, attempt by attempt, from a known byte on.

Of an array each task's files are read by themselves, and given in whole lines, each led
by its task's index. A manager that is silent for a while delays it and loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from bascule.connections import Connect
from bascule.errors import Error, Unavailable
from bascule.journal import Logger
from bascule.model import Handle, Job, Ref, Target, indices_of
from bascule.ports import Clock, Manager, Stream

PIECE = 256 * 1024
FASTEST, SLOWEST = 0.1, 1.0
LAST_WORDS = 60.0
"""Seconds for which the output of a job that is over is asked for while its manager is silent."""
log = Logger(__name__)

Hand = Callable[[Stream, int, dict[str, int], bytes], Awaitable[None]]
"""Takes bytes of a stream of an attempt, and up to where they lead (by task, or by the empty text)."""


class View(Protocol):
    """The job as it is known."""

    @property
    def latest(self) -> Job | None:
        """Return the job; None where it is gone."""

    async def target(self, ref: Ref) -> Target | None:
        """Return its target."""


class Output:
    """Reads what a job writes, attempt by attempt, each stream from where it was last handed over."""

    def __init__(self, hand: Hand, begun: dict[Stream, tuple[int, dict[str, int]]], clock: Clock) -> None:
        self._hand = hand
        self._begun = begun
        self._clock = clock
        self.trouble = ""
        """Why it cannot be read, where that is so."""

    async def follow(self, view: View, connect: Connect) -> None:
        """Hand over all there is, until the job is over."""
        async with asyncio.TaskGroup() as tasks:
            for stream in ("output", "error"):
                tasks.create_task(self._follow(stream, view, connect), name=f"read {stream}")

    async def _follow(self, stream: Stream, view: View, connect: Connect) -> None:
        attempt, offsets = self._begun.get(stream, (0, {}))
        while (job := view.latest) is not None:
            if job.status.attempt and attempt < 1:
                attempt = min([past.attempt for past in job.status.attempts] + [job.status.attempt])
            if attempt:
                await self._attempt(stream, attempt, offsets, view, connect)
                job = view.latest
            if job is None or (job.status.phase.is_final and job.status.attempt <= attempt):
                return
            if attempt and job.status.attempt > attempt:
                attempt, offsets = attempt + 1, {}
            else:
                await self._clock.sleep(SLOWEST)

    async def _attempt(
        self, stream: Stream, attempt: int, offsets: dict[str, int], view: View, connect: Connect
    ) -> None:
        """Hand over what one attempt writes, until it is over."""
        pause, silent = FASTEST, 0.0
        manager: Manager | None = None
        try:
            while (job := view.latest) is not None:
                ended = job.status.phase.is_final or job.status.attempt > attempt
                handle = handle_of(job, attempt)
                moved = False
                try:
                    if handle is not None:
                        manager = manager or await _manager_for(job, view, connect)
                        moved = await self._round(stream, attempt, offsets, job, handle, manager)
                    silent = 0.0
                except Unavailable as trouble:
                    silent += pause
                    if ended and silent > LAST_WORDS:
                        self.trouble = trouble.message
                        return
                    ended = False
                except Error as trouble:
                    self.trouble = trouble.message
                    log.warning("output.unreadable", stream=stream, error=trouble.message)
                    return
                if ended and not moved:
                    return
                if not moved:
                    await self._clock.sleep(pause)
                pause = FASTEST if moved else min(pause * 1.3, SLOWEST)
        finally:
            if manager is not None:
                await manager.aclose()

    async def _round(
        self, stream: Stream, attempt: int, offsets: dict[str, int], job: Job, handle: Handle, manager: Manager
    ) -> bool:
        """Read one piece of each file there is; tell whether there was something."""
        moved = False
        for index in files_of(job):
            place = "" if index is None else str(index)
            chunk = await manager.read(handle, stream, offsets.get(place, 0), PIECE, index)
            if not chunk.data:
                continue
            data = chunk.data
            if index is not None:
                data = _whole_lines(data, whole=len(data) >= PIECE or job.status.phase.is_final)
                if not data:
                    continue
            offsets[place] = chunk.offset + len(data)
            await self._hand(stream, attempt, {place: offsets[place]}, data if index is None else _led(index, data))
            moved = True
        return moved


async def _manager_for(job: Job, view: View, connect: Connect) -> Manager:
    target = await view.target(job.target_ref)
    if target is None:
        raise Unavailable(f"the target `{job.target_ref}` is gone", hint="make it again")
    return await connect(target, job.namespace)


def handle_of(job: Job, attempt: int) -> Handle | None:
    """Return what *attempt* of *job* is called outside; None where it never was there, or that is forgotten."""
    if attempt == job.status.attempt:
        return job.status.handle
    for past in job.status.attempts:
        if past.attempt == attempt and past.id:
            return Handle(past.id, past.key, place=past.place)
    return None


def files_of(job: Job) -> tuple[int | None, ...]:
    """Return the tasks whose output is read, each by itself; None for a job that is none of many."""
    return indices_of(job.spec.array.indices) if job.spec.array is not None else (None,)


def _whole_lines(data: bytes, *, whole: bool) -> bytes:
    """Return as much of *data* as ends in lines; all of it where no more will come, or a line is very long."""
    lines, end, rest = data.rpartition(b"\n")
    return data if whole and (not end or rest) else lines + end


def _led(index: int, data: bytes) -> bytes:
    """Lead each line of *data* by its task's index."""
    return b"".join(b"%d | %b\n" % (index, line) for line in data.removesuffix(b"\n").split(b"\n"))
