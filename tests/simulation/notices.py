"""Notices of changes, on a way that repeats some and lets others overtake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from random import Random

from bascule.platforms.embedded.store import Store
from bascule.ports import Change


def confuse(store: Store, luck: Random) -> None:
    """Let the notices of *store* arrive late, twice, and in another order; each arrives."""
    watch = store.watch
    store.watch = lambda: _confused(watch, luck)  # type: ignore[method-assign]


def _confused(watch: Callable[[], AsyncIterator[Change]], luck: Random) -> AsyncIterator[Change]:
    changes = watch()  # at once: what changes from now on counts

    async def told() -> AsyncIterator[Change]:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[Change | BaseException] = asyncio.Queue()

        async def carry() -> None:
            try:
                async with aclosing(changes) as notices:  # type: ignore[type-var]
                    async for change in notices:
                        for _ in range(luck.choice([1, 1, 1, 2])):
                            loop.call_later(luck.choice([0.0, 0.0, luck.uniform(0, 3)]), arrived.put_nowait, change)
            except BaseException as end:
                arrived.put_nowait(end)
                raise

        carrier = loop.create_task(carry(), name="carry notices")
        try:
            while True:
                change = await arrived.get()
                if isinstance(change, BaseException):
                    raise change
                yield change
        finally:
            carrier.cancel()

    return told()
