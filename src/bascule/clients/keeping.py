"""
A connection that is used again only where its last exchange left nothing behind.

HTTP/1.1 tells answers apart by their order alone: bytes that come late on a kept
connection would be taken for the answer to the next request. So what follows the declared
end of the first answer is dropped (slurmrestd 26.05 follows an error by a second answer,
22.05 repeats a header behind the body), and a connection rests only after a success
whose declared length was read to its end, for a second at most, and is not taken up again
if anything came meanwhile.

A server may also close without a word, just as the next request goes out; what that asked
for would be in doubt. So only what changes nothing is asked on a used connection, until
one has answered twice: then the site is known to keep them. One that broke its first is not trusted again.
"""

from __future__ import annotations

import asyncio
import re
import select
from contextvars import ContextVar
from dataclasses import dataclass

from aiohttp.client_proto import ResponseHandler

RESTS = 1.0
"""Seconds: well below the patience of any server or proxy, so that none closes it just as a request goes out."""
LIVES = 60.0
"""Seconds after which the address is looked at anew."""
LONGEST_HEAD = 64 << 10
CHANGES: ContextVar[bool] = ContextVar("changes", default=True)
"""Whether the request that is being sent may change something."""
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,15})[ \t]*\r\n", re.IGNORECASE)
_SUCCESS = re.compile(rb"HTTP/1\.1 2\d\d ")


class FirstAnswer:
    """Tells the bytes of the first answer from those behind it; an answer without a length has no end here."""

    def __init__(self) -> None:
        self._head: bytes | None = b""
        self._left: int | None = None
        self._is_success = False
        self.is_followed = False

    @property
    def has_ended(self) -> bool:
        """Tell whether the whole answer has come."""
        return self._left == 0

    @property
    def leaves_nothing(self) -> bool:
        """Tell whether it was a success that has ended, and nothing came behind it."""
        return self._is_success and self._left == 0 and not self.is_followed

    def part_of(self, data: bytes) -> bytes:
        """Return what of *data*, and of a head that was kept back, belongs to the answer."""
        if self._head is not None:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0 and len(self._head) < LONGEST_HEAD:
                return b""
            data, self._head = self._head, None
            if end >= 0 and (length := _LENGTH.search(data[: end + 4])):
                self._left = end + 4 + int(length[1])
                self._is_success = _SUCCESS.match(data) is not None
        if self._left is None:
            return data
        piece = data[: self._left]
        self._left -= len(piece)
        self.is_followed = self.is_followed or len(piece) < len(data)
        return piece


@dataclass(slots=True)
class Habits:
    """What was learned of a site: whether it *keeps* connections."""

    keeps: bool | None = None


class KeptConnection(ResponseHandler):
    """aiohttp's own protocol, with a narrower view of when it is fit for another request."""

    def __init__(self, loop: asyncio.AbstractEventLoop, habits: Habits) -> None:
        super().__init__(loop)
        self._born = loop.time()
        self._habits = habits
        self._exchanges = 0
        self._answer = FirstAnswer()
        self._is_silent = True

    def set_response_params(self, **params: object) -> None:
        """Begin an exchange."""
        self._exchanges += 1
        self._answer = FirstAnswer()
        self._is_silent = True
        super().set_response_params(**params)  # type: ignore[arg-type]

    def connection_lost(self, exc: BaseException | None) -> None:
        """Take note of a used connection that was closed instead of answered."""
        if self._exchanges > 1 and self._is_silent and self.transport is not None:
            self._habits.keeps = False
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand on what belongs to the answer; no data is aiohttp's own sign to go on with what it has."""
        self._is_silent = False
        if self._exchanges > 1 and self._habits.keeps is None:
            self._habits.keeps = True
        piece = self._answer.part_of(data) if data else data
        if piece or not data:
            super().data_received(piece)

    @property
    def should_close(self) -> bool:
        """Tell, when an exchange is over, that the connection is not to rest."""
        return super().should_close or not self._answer.leaves_nothing

    def is_connected(self) -> bool:
        """Tell whether it can be used: asked before a connection that rests is taken up again."""
        if not super().is_connected():
            return False
        return not self._answer.has_ended or self._is_fit()

    def _is_fit(self) -> bool:
        return bool(
            self._answer.leaves_nothing
            and not super().should_close
            and (self._habits.keeps or (self._habits.keeps is None and not CHANGES.get()))
            and self._loop.time() - self._born < LIVES
            and not self._has_unread()
        )

    def _has_unread(self) -> bool:
        """Tell whether something came, the end of the connection included, that the event loop has not yet read."""
        sock = self.transport.get_extra_info("socket") if self.transport is not None else None
        if sock is None or sock.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        return bool(poll.poll(0))
