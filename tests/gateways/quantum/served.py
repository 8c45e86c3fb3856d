"""A gateway that is served from a thread of its own, so that what it does is seen of no test's loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Self

from bascule.gateways.quantum.accounts import Accounts
from bascule.gateways.quantum.server import application, serving
from bascule.gateways.quantum.service import QuantumService
from tests.gateways.quantum.weather import Weather


class Served:
    """Serves until it is left; *url* is known while it does."""

    def __init__(self, service: QuantumService, accounts: Accounts) -> None:
        self.weather = Weather()
        self.url = ""
        self._service = service
        self._accounts = accounts
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        app = application(self._service, self._accounts, before=[self.weather.middleware])
        async with serving(app, self._service, "127.0.0.1", 0) as port:
            self.url = f"http://127.0.0.1:{port}"
            self._ready.set()
            await self._over.wait()
