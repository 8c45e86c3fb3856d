"""A relay that counts: requests to the server, and bytes from it, headers and all."""

from __future__ import annotations

import asyncio
from typing import Self
from urllib.parse import urlsplit

REQUEST = b" HTTP/1.1\r\n"


class Relay:
    """Stands before the server at *url*; its own address is `url`."""

    def __init__(self, url: str) -> None:
        self._behind = urlsplit(url)
        self.requests = 0
        self.bytes = 0

    async def __aenter__(self) -> Self:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Listen no more."""
        self._server.close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, questions = await asyncio.open_connection(self._behind.hostname, self._behind.port)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._there(reader, questions))
            tasks.create_task(self._back(answers, writer))

    async def _there(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        before = b""
        while data := await _read(reader):
            whole = before + data
            self.requests += whole.count(REQUEST)
            before = whole[-(len(REQUEST) - 1) :]
            writer.write(data)
        writer.close()

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await _read(reader):
            self.bytes += len(data)
            writer.write(data)
        writer.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(1 << 20)
    except ConnectionError:
        return b""
