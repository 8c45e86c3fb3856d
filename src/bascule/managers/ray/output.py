"""
A job's output: read whole where somebody begins, and followed over a WebSocket from there on.

Ray can give a log only from its beginning. So the first read takes it whole; whoever has come to
its end is given a tail, from which each further read takes what has come since, with no request.
Where no tail is to be had (a proxy that lets none through) or one breaks off, the log is read whole
again, the more seldom the longer it takes, and goes on at the byte where it stopped.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from bascule.clients.sockets import Socket
from bascule.errors import Unauthorized, Unavailable
from bascule.managers.ray.head import Head
from bascule.managers.ray.own_lines import OwnLines
from bascule.model import Chunk, Handle
from bascule.ports import Clock, Stream

MOST_TAILS = 16
WAITS = 0.25
"""Seconds for which a read waits for news."""
AT_ONCE = 0.01
CLOSES_WITHIN = 4.0
"""Seconds within which Ray closes the tail of a job that is over."""
RESTS_AT_LEAST = 0.5
RESTS_AT_MOST = 5.0
COSTS = 10.0
"""How many times as long as a whole read took the next one is put off."""
NO_TAIL_FOR = 300.0
"""Seconds for which a head that gave no tail is not asked for another."""
SMALL = 64 << 10
"""Bytes of a log that cost no more to be read than the question how its job stands."""
KEEPS = 8 << 20
"""Bytes of a log that are kept for the next read."""


@dataclass(slots=True)
class Course:
    """How the reading of one log stands. *text* is what was read whole last, *tail* goes on from *position*."""

    entrypoint: str
    lines: OwnLines
    text: bytes | None = None
    size: int = 0
    next_at: float = float("-inf")
    tail: Socket | None = None
    position: int = 0
    skips: int = 0
    ahead: bytes = b""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Output:
    """Reads logs at one head."""

    def __init__(self, head: Head, clock: Clock) -> None:
        self._head = head
        self._clock = clock
        self._courses: dict[str, Course] = {}
        self._no_tail_until = float("-inf")

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int) -> Chunk:
        """Read a piece of the log, which has what the job wrote to either stream."""
        if stream == "error":
            return Chunk(b"", offset, 0)
        course = await self._course(handle)
        if course is None:
            return Chunk(b"", offset, 0, gone=True)
        async with course.lock:
            if course.tail is not None and offset == course.position:
                chunk = await self._from_tail(handle, course, offset, limit)
                if chunk is not None:
                    return chunk
            if course.text is not None and offset < len(course.text):
                return Chunk(course.text[offset : offset + limit], offset, course.size)
            return await self._asked(handle, course, offset, limit)

    async def aclose(self) -> None:
        """Close all tails."""
        courses, self._courses = list(self._courses.values()), {}
        for course in courses:
            await _drop(course)

    async def _course(self, handle: Handle) -> Course | None:
        course = self._courses.pop(handle.id, None)
        if course is None:
            details = await self._head.job(handle.id)
            if details is None or not details.belongs_to(handle.key):
                return None
            course = self._courses.pop(handle.id, None)  # somebody else was here meanwhile
            course = course or Course(details.entrypoint, OwnLines(handle.id, details.entrypoint))
        self._courses[handle.id] = course  # the one used last stands last
        while len(self._courses) > MOST_TAILS:
            await _drop(self._courses.pop(next(iter(self._courses))))
        return course

    async def _from_tail(self, handle: Handle, course: Course, offset: int, limit: int) -> Chunk | None:
        """Take what has come; None where nothing more can come this way."""
        await _take(course, limit, within=WAITS)
        if not course.ahead and course.tail is not None and not course.tail.is_over:
            # Ray looks for news once a second only, and whoever knows of the end must not be told that there is nothing.
            if course.position <= SMALL:
                await self._look_ahead(handle, course)
            else:
                await self._see_to_the_end(handle, course, limit)
        data, left = course.ahead[:limit], course.ahead[limit:]
        course.position, course.ahead = offset + len(data), left
        course.size = max(course.size, course.position + len(left))
        is_over = course.tail is None or course.tail.is_over
        if is_over:
            await _drop_tail(course)  # what is left is read again with the whole
        return None if is_over and not data else Chunk(data, offset, course.size)

    async def _look_ahead(self, handle: Handle, course: Course) -> None:
        """Read the whole, which is small, and let the tail drop what it brings once more."""
        text = await self._head.log(handle.id)
        if text is None:
            await _drop_tail(course)
            return
        whole = OwnLines(handle.id, course.entrypoint).without(text.encode(errors="surrogateescape"))
        course.ahead = whole[course.position :]
        course.skips += len(course.ahead)

    async def _see_to_the_end(self, handle: Handle, course: Course, limit: int) -> None:
        """Wait for the last of a job that is over."""
        details = await self._head.job(handle.id)
        if details is not None and not details.end_time:
            return
        if course.position > KEEPS:
            await _take(course, limit, within=CLOSES_WITHIN)
        if not course.ahead:
            await _drop_tail(course)  # the whole, once more, is there sooner

    async def _asked(self, handle: Handle, course: Course, offset: int, limit: int) -> Chunk:
        """Ask the head: for nothing before the job began, for the whole log once, then for a tail."""
        began = self._clock.monotonic()
        if course.next_at > began:
            # Waited for, and not answered from memory: what says `nothing` after the end is believed.
            await self._clock.sleep(course.next_at - began)
        details = await self._head.job(handle.id)
        if details is None:
            return self._gone(handle, offset)
        if details.driver_agent_http_address is None and not details.end_time:
            course.next_at = self._clock.monotonic() + RESTS_AT_LEAST
            return Chunk(b"", offset, 0)
        can_follow = not details.end_time and self._clock.monotonic() >= self._no_tail_until
        if course.size == 0 or offset != course.size or not can_follow:
            asked = self._clock.monotonic()
            text = await self._head.log(handle.id)
            if text is None:
                return self._gone(handle, offset)
            took = self._clock.monotonic() - asked
            whole = OwnLines(handle.id, course.entrypoint).without(
                text.encode(errors="surrogateescape"), is_last=bool(details.end_time)
            )
            course.next_at = asked + took + min(max(RESTS_AT_LEAST, COSTS * took), RESTS_AT_MOST)
            course.size = len(whole)
            course.text = whole if len(whole) <= KEEPS else None
            if offset < len(whole) or not can_follow:
                return Chunk(whole[offset : offset + limit], offset, course.size)
        if await self._follow(handle, course, offset):
            chunk = await self._from_tail(handle, course, offset, limit)
            if chunk is not None:
                return chunk
        return Chunk(b"", offset, course.size)

    async def _follow(self, handle: Handle, course: Course, offset: int) -> bool:
        """Open a tail that goes on at *offset*; False where none is to be had."""
        await _drop_tail(course)
        try:
            course.tail = await self._head.tail(handle.id)
        except Unauthorized:
            raise
        except Unavailable:
            self._no_tail_until = self._clock.monotonic() + NO_TAIL_FOR
            return False
        course.lines = OwnLines(handle.id, course.entrypoint)
        course.position = course.skips = offset
        course.ahead, course.text = b"", None
        return True

    def _gone(self, handle: Handle, offset: int) -> Chunk:
        self._courses.pop(handle.id, None)
        return Chunk(b"", offset, 0, gone=True)


async def _take(course: Course, limit: int, *, within: float) -> None:
    """Take from the tail what there is, up to *limit*; wait for the first of it *within* so many seconds."""
    while course.tail is not None and len(course.ahead) < limit and not course.tail.is_over:
        piece = await course.tail.next(within=AT_ONCE if course.ahead else within)
        fresh = course.lines.without(piece, is_last=course.tail.is_over)
        skipped = min(course.skips, len(fresh))
        course.skips -= skipped
        course.ahead += fresh[skipped:]
        if not piece:
            return


async def _drop(course: Course) -> None:
    course.text = None
    await _drop_tail(course)


async def _drop_tail(course: Course) -> None:
    tail, course.tail = course.tail, None
    if tail is not None:
        await tail.aclose()
