"""
A server that answers as a test says: byte for byte, and wrongly where that is asked.

Each request is kept as it came. What the server does with a connection is a function of
the test, or one of those below.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from typing import Self

Behaviour = Callable[["Exchange"], Awaitable[None]]


class Exchange:
    """One request, and the connection to answer it on."""

    def __init__(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = head.decode("latin-1")
        self.reader = reader
        self._writer = writer
        self.written = 0

    async def write(self, data: bytes) -> None:
        """Send *data*, and wait until it is gone."""
        self.written += len(data)
        self._writer.write(data)
        await self._writer.drain()

    def header(self, name: str) -> str | None:
        """Return a header of the request."""
        for line in self.head.split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name.lower():
                return value.strip()
        return None

    async def left(self) -> None:
        """Wait until the client has gone."""
        while await self.reader.read(65536):
            pass


class Server:
    """A server on this machine; `exchanges` holds what it was asked, on so many *connections*."""

    def __init__(self, *behaviours: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self._behaviours = behaviours
        self._tls = tls
        self.exchanges: list[Exchange] = []
        self.open = 0
        self.connections = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self.deserted()
        await self._server.wait_closed()

    async def deserted(self) -> None:
        """Wait until no connection is left."""
        async with asyncio.timeout(5):
            await self._idle.wait()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"{'https' if self._tls else 'http'}://localhost:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.connections += 1
        self._idle.clear()
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                while True:
                    exchange = Exchange(await reader.readuntil(b"\r\n\r\n"), reader, writer)
                    await reader.readexactly(int(exchange.header("content-length") or 0))
                    self.exchanges.append(exchange)
                    behaviour = self._behaviours[min(len(self.exchanges), len(self._behaviours)) - 1]
                    await behaviour(exchange)
                    if behaviour in CLOSES:
                        return
        finally:
            writer.close()
            self.open -= 1
            if not self.open:
                self._idle.set()


def answers(status: int = 200, body: bytes = b"{}", **headers: str) -> Behaviour:
    """Answer as a good server does."""

    async def behave(exchange: Exchange) -> None:
        await exchange.write(plain(status, body, **headers))

    return behave


def plain(status: int = 200, body: bytes = b"{}", **headers: str) -> bytes:
    """Return an answer's bytes."""
    whole = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    whole |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in whole.items())
    return f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode() + body


def sends(data: bytes) -> Behaviour:
    """Send *data*, whatever it is, and close the connection."""

    async def behave(exchange: Exchange) -> None:
        await exchange.write(data)

    CLOSES.add(behave)
    return behave


async def closes(exchange: Exchange) -> None:
    """Close the connection without an answer."""


async def keeps_silent(exchange: Exchange) -> None:
    """Answer nothing until the client leaves."""
    await exchange.left()


async def drips(exchange: Exchange) -> None:
    """Answer a byte at a time, for ever."""
    await exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        await exchange.write(b"x")
        await asyncio.sleep(0.02)


async def drips_headers(exchange: Exchange) -> None:
    """Send headers a byte at a time, for ever."""
    await exchange.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        await exchange.write(b"x")
        await asyncio.sleep(0.02)


async def never_ends(exchange: Exchange) -> None:
    """Send a body in pieces, for ever."""
    await exchange.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await exchange.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")


async def promises_a_gigabyte(exchange: Exchange) -> None:
    """Announce a body of 1 GiB, and send it."""
    await exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
    for _ in range(16384):
        await exchange.write(b"x" * 65536)


CLOSES: set[Behaviour] = {closes}
