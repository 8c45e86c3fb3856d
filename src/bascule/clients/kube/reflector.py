"""
Following a collection: what changed, by whom ever, and never too little.

A list in pages, then a watch from there on. The server may end a watch at any time, say
that it is too old (410), or fall silent without a word; each leads back to a state that
is known to be whole. Only the objects' ``metadata`` is asked for, and only their
versions are kept: whoever wants an object reads it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing

import msgspec

from bascule.clients.kube.client import METADATA, METADATA_LIST, KubeClient
from bascule.clients.kube.faults import Rejected, Status
from bascule.clients.kube.meta import Key, ListMeta, Meta
from bascule.errors import Error, Unavailable
from bascule.journal import Logger

PAGE = "500"
IDLE = 90.0
"""Seconds of silence after which a watch is dead: bookmarks come each minute."""
SHORTEST, LONGEST = 240, 480
LONGEST_PAUSE = 30.0
ENOUGH_FAILURES = 3
"""Watches that fail one after the other, after which all is listed again: the version may be one that nobody has."""

NOTHING_MORE: Mapping[str, str] = {}
log = Logger(__name__)

Sleep = Callable[[float], Awaitable[None]]


class _Item(msgspec.Struct):
    metadata: Meta


class _List(msgspec.Struct):
    metadata: ListMeta
    items: list[_Item] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_LISTS = msgspec.json.Decoder(_List)
_EVENTS = msgspec.json.Decoder(_Event)
_ITEMS = msgspec.json.Decoder(_Item)


class _Expired(Exception):
    """The version from which to watch is too old: list again."""


class Known(msgspec.Struct, frozen=True):
    """What is kept of an object."""

    uid: str
    version: str


class Reflector:
    """
    Knows the version of each object in the collection at *path*.

    *told* is called with each key that moved, appeared or went; after a gap with all that
    may have. *query* has selectors, where not all are to be followed. Counters are for
    whoever measures.
    """

    def __init__(
        self,
        client: KubeClient,
        path: str,
        told: Callable[[Key, Meta | None], None],
        *,
        sleep: Sleep = asyncio.sleep,
        idle: float = IDLE,
        query: Mapping[str, str] = NOTHING_MORE,
    ) -> None:
        self._client = client
        self._path = path
        self._told = told
        self._sleep = sleep
        self._idle = idle
        self._query = query
        self._version = ""
        self.known: dict[Key, Known] = {}
        self.synced = asyncio.Event()
        self.lists = 0
        self.watches = 0

    async def run(self) -> None:
        """Follow until cancelled."""
        pause, failures = 0.0, 0
        while True:
            began = time.monotonic()
            try:
                if not self._version:
                    await self._list()
                await self._watch()
                failures = 0
                pause = 0.0 if time.monotonic() - began > 1 else 1.0
            except _Expired:
                self._version = ""
                pause = 0.0 if time.monotonic() - began > 1 else 1.0
            except Error as trouble:
                log.warning("reflector.trouble", path=self._path, error=trouble.message)
                failures += 1
                if failures % ENOUGH_FAILURES == 0:
                    self._version = ""
                pause = min(LONGEST_PAUSE, max(0.2, pause * 2))
                if isinstance(trouble, Unavailable) and trouble.retry_after:
                    pause = max(pause, trouble.retry_after)
            # Spread, so that not all who lost one server come back to it at once.
            await self._sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - guards nothing

    async def _list(self) -> None:
        found: dict[Key, Meta] = {}
        query = {**self._query, "limit": PAGE}
        self.lists += 1
        while True:
            try:
                page = _LISTS.decode(await self._client.get(self._path, query, accept=METADATA_LIST))
            except Rejected as refusal:
                if refusal.code == 410:  # a list of many pages took too long
                    raise _Expired from refusal
                raise
            except msgspec.MsgspecError as error:
                raise Unavailable(f"the API server listed `{self._path}` in a form that is not known here") from error
            found.update((item.metadata.key, item.metadata) for item in page.items or ())
            if not page.metadata.more:
                break
            query = {**self._query, "limit": PAGE, "continue": page.metadata.more}
        before = self.known
        self.known = {key: Known(meta.uid, meta.resource_version) for key, meta in found.items()}
        self._version = page.metadata.resource_version
        for key in before.keys() - found.keys():
            self._told(key, None)
        for key, meta in found.items():
            if before.get(key) != self.known[key]:
                self._told(key, meta)
        self.synced.set()

    async def _watch(self) -> None:
        self.watches += 1
        query = {
            **self._query,
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(random.randint(SHORTEST, LONGEST)),  # noqa: S311 - guards nothing
        }
        lines = self._client.watch(self._path, query, accept=METADATA, idle=self._idle)
        try:
            async with aclosing(lines):  # type: ignore[type-var]
                async for line in lines:
                    self._take(line)
        except Rejected as refusal:
            if refusal.code == 410:
                raise _Expired from refusal
            raise

    def _take(self, line: bytes) -> None:
        try:
            event = _EVENTS.decode(line)
            if event.type == "ERROR":
                status = msgspec.json.decode(event.object, type=Status)
                if status.code == 410:
                    raise _Expired
                raise Unavailable(f"the API server ended the watch of `{self._path}`: {status.message}")
            meta = _ITEMS.decode(event.object).metadata
        except msgspec.MsgspecError as error:
            raise Unavailable(f"the API server told of `{self._path}` in a form that is not known here") from error
        self._version = meta.resource_version
        if event.type == "BOOKMARK":
            return
        if event.type == "DELETED":
            self.known.pop(meta.key, None)
            self._told(meta.key, None)
        else:
            self.known[meta.key] = Known(meta.uid, meta.resource_version)
            self._told(meta.key, meta)
