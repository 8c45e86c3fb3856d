"""
Take the first answer on a connection, and drop what slurmrestd writes behind it.

26.05 follows an answer that is an error by a second one, as plain text; 22.05 repeats a
header behind the body. An HTTP client takes either for a broken connection, and with it
loses the answer that says what went wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from bascule.clients.http import HttpClient

Feed = Callable[[bytes], None]
LONGEST_HEAD = 64 << 10
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,15})[ \t]*\r\n", re.IGNORECASE)


class FirstAnswerClient(HttpClient):
    """A client whose connections end with their first answer."""

    def _connected(self) -> Any:
        fresh = self._session is None
        session = super()._connected()
        if fresh:
            connector = session.connector
            make = connector._factory  # type: ignore[union-attr] # noqa: SLF001 - there is no public way to a protocol

            def make_trimmed() -> Any:
                protocol = make()
                protocol.data_received = Trimmer(protocol.data_received)  # type: ignore[method-assign]
                return protocol

            connector._factory = make_trimmed  # type: ignore[union-attr] # noqa: SLF001
        return session


class Trimmer:
    """Hands on the bytes of one answer; what is not told by a length is handed on as it comes."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._head: bytes | None = b""
        self._left: int | None = None

    def __call__(self, data: bytes) -> None:
        """Take in what was received."""
        if self._head is None:
            self._hand_on(data)
            return
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end < 0 and len(self._head) < LONGEST_HEAD:
            return
        whole, self._head = self._head, None
        length = _LENGTH.search(whole[: end + 4]) if end >= 0 else None
        if length is not None:
            self._left = end + 4 + int(length[1])
        self._hand_on(whole)

    def _hand_on(self, data: bytes) -> None:
        if self._left is None:
            self._feed(data)
        elif self._left:
            piece = data[: self._left]
            self._left -= len(piece)
            self._feed(piece)
