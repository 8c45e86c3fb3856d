"""What can go wrong between a client and a gateway, one request at a time: a middleware in front of it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import Literal

from aiohttp import web

Kind = Literal["cut before", "cut after", "instead", "after", "late", "doubled", "silent", "endless", "slow"]


@dataclass
class Fault:
    """What goes wrong with the next request that *pattern* matches; *status* and *body* are answered instead."""

    pattern: str
    kind: Kind
    status: int = 500
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


class Weather:
    """The faults that are still to come, and the requests that came."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self._belated: list[object] = []

    async def arrive(self) -> None:
        """Let what was late take effect now, unanswered."""
        for loop, handler, request in self._belated:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(handler(request), loop))
        self._belated.clear()

    def next(self, pattern: str, kind: Kind, **more: object) -> None:
        """Let the next request that matches go wrong."""
        self.faults.append(Fault(pattern, kind, **more))

    def count(self, pattern: str) -> int:
        """Count the requests that matched."""
        return sum(re.search(pattern, line) is not None for line in self.requests)

    @property
    def middleware(self) -> object:
        """Return what stands in front of the gateway."""

        @web.middleware
        async def through(request, handler):
            line = f"{request.method} {request.path_qs}"
            self.requests.append(line)
            fault = next((one for one in self.faults if re.search(one.pattern, line)), None)
            if fault is None:
                return await handler(request)
            self.faults.remove(fault)
            return await self._go_wrong(fault, request, handler)

        return through

    async def _go_wrong(self, fault, request, handler):
        await request.read()
        if fault.kind == "late":
            self._belated.append((asyncio.get_running_loop(), handler, request))
        if fault.kind in {"cut after", "after", "doubled", "slow"}:
            answer = await handler(request)
        if fault.kind == "doubled":
            return await handler(request)
        if fault.kind == "silent":
            while not request.transport.is_closing():  # noqa: ASYNC110 - nobody tells when a client leaves
                await asyncio.sleep(0.05)
            return web.Response()
        if fault.kind == "slow":
            await asyncio.sleep(0.2)
            return answer
        if fault.kind in {"cut before", "cut after", "late"}:
            request.transport.abort()
            return web.Response()
        if fault.kind == "endless":
            stream = web.StreamResponse()
            await stream.prepare(request)
            while True:
                await stream.write(b" " * 65536)
        return web.Response(status=fault.status, text=fault.body, headers=fault.headers)
