"""A few pages for those who watch this process: read-only, one request each; on a loopback port unless told otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from bascule.errors import Mistake

HOST = "127.0.0.1"
LONGEST_REQUEST = 8192
ANSWERED_WITHIN = 5.0
_MEANING = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


class Page(NamedTuple):
    """What is answered."""

    status: int
    text: str
    content_type: str = "text/plain; charset=utf-8"


Pages = dict[str, Callable[[], Awaitable[Page]]]


async def serve_pages(pages: Pages, port: int, host: str = HOST) -> asyncio.Server:
    """Begin to answer on *port* (0: any that is free) of *host*; raise `Mistake` where it is taken."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(ANSWERED_WITHIN):
                await _send(writer, await _page(reader, pages))
        writer.close()

    try:
        return await asyncio.start_server(answer, host, port, limit=LONGEST_REQUEST)
    except OSError as fault:
        raise Mistake(
            f"port {port} of {host} cannot be used: {fault.strerror}",
            hint="choose another with `--port` (0: any that is free), or leave metrics out with `--no-http`",
        ) from fault


def port_of(server: asyncio.Server) -> int:
    """Return the port that *server* got."""
    return int(server.sockets[0].getsockname()[1])


async def _page(reader: asyncio.StreamReader, pages: Pages) -> Page:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        return Page(400, "too long\n")
    method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
    path = rest.partition(" ")[0].partition("?")[0]
    if method not in ("GET", "HEAD"):
        return Page(405, "only GET\n")
    make = pages.get(path)
    return await make() if make is not None else Page(404, f"there are {', '.join(pages)}\n")


async def _send(writer: asyncio.StreamWriter, page: Page) -> None:
    body = page.text.encode()
    head = (
        f"HTTP/1.1 {page.status} {_MEANING[page.status]}\r\n"
        f"Content-Type: {page.content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
