"""
The connections to an API server: those of now, and older ones for as long as they are in use.

A connection shows its certificate once, so another certificate takes other connections.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from bascule.clients.kube.identity import Credential
from bascule.clients.kube.tls import context_of

CONNECTIONS = 64
TURNS = 5


class Lent:
    """A session, and the *streams* without end that run over its connections."""

    def __init__(self, session: aiohttp.ClientSession, shown: tuple[bytes, bytes]) -> None:
        self.session = session
        self.shown = shown
        self.users = 0
        self.is_old = False
        self.since = time.monotonic()
        self.streams: set[aiohttp.ClientResponse] = set()

    async def aclose(self) -> None:
        """Close its connections."""
        # A farewell of TLS would be waited for, and a watch that is given up gets none.
        if self.session.connector is not None:
            await self.session.connector.close(abort_ssl=True)
        await self.session.close()
        # One that was given up within its handshake closes a few turns of the loop later.
        for _ in range(TURNS):
            await asyncio.sleep(0)


class Sessions:
    """Lends sessions whose server is one that *ca* has signed for."""

    def __init__(self, ca: str | None) -> None:
        self._ca = ca
        self._now: Lent | None = None

    async def distrust(self, since: float) -> None:
        """
        Use others from now on, where those of now were open at *since*: one was asked then, and said nothing.

        It may be the server, and it may be something on the way that has forgotten a
        connection without a word. So streams of that age are given up too.
        """
        doubted = self._now
        if doubted is None or doubted.since > since:
            return
        self._now, doubted.is_old = None, True
        for stream in doubted.streams:
            stream.content.set_exception(aiohttp.ServerTimeoutError("the server was silent elsewhere"))
        if not doubted.users:
            await doubted.aclose()

    @asynccontextmanager
    async def lent(self, credential: Credential) -> AsyncIterator[Lent]:
        """Lend one that shows the certificate of *credential*."""
        shown = (credential.certificate, credential.key)
        lent = self._now
        if lent is None or lent.shown != shown:
            # There is nothing to wait for between the look and the change.
            lent = Lent(_opened(self._ca, *shown), shown)
            old, self._now = self._now, lent
            if old is not None:
                old.is_old = True
                if not old.users:
                    await old.aclose()
        lent.users += 1
        try:
            yield lent
        finally:
            lent.users -= 1
            if lent.is_old and not lent.users:
                await lent.aclose()

    async def aclose(self) -> None:
        """Close what is open; afterwards others are opened when they are wanted."""
        old, self._now = self._now, None
        if old is not None:
            await old.aclose()


def _opened(ca: str | None, certificate: bytes, key: bytes) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context_of(ca, certificate, key), limit=CONNECTIONS),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "bascule"},
        max_line_size=64 * 1024,
    )
