"""
A WebSocket that is only listened to, piece by piece, at the listener's own speed.

What was not fetched yet waits on the way: no more than some frames are held in memory.
"""

from __future__ import annotations

import asyncio

import aiohttp

LARGEST_FRAME = 4 << 20


class Socket:
    """One open WebSocket; `HttpClient.open` makes them."""

    def __init__(self, stream: aiohttp.ClientWebSocketResponse) -> None:
        self._stream = stream
        self.is_over = False
        """Whether the other side has closed it, or the line was lost: nothing more will come."""

    async def next(self, *, within: float) -> bytes:
        """Return the next piece; nothing where none comes *within* so many seconds, or ever again."""
        if self.is_over:
            return b""
        try:
            message = await self._stream.receive(timeout=within)
        except TimeoutError:
            return b""
        except (aiohttp.ClientError, OSError):
            self.is_over = True
            return b""
        match message.type:
            case aiohttp.WSMsgType.TEXT:
                return str(message.data).encode(errors="surrogateescape")
            case aiohttp.WSMsgType.BINARY:
                return bytes(message.data)
        self.is_over = True
        return b""

    async def aclose(self) -> None:
        """Close it, without waiting for the other side's consent."""
        self.is_over = True
        try:
            async with asyncio.timeout(1.0):
                await self._stream.close()
        except (TimeoutError, aiohttp.ClientError, OSError):
            return
