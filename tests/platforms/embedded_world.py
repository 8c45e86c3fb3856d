"""Worlds of the embedded platform: one home, opened by several stores as if by several processes."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Self

from bascule.platforms.embedded import Settings, Store, open_store
from bascule.ports import Clock
from tests.contracts.platform_world import PlatformWorld
from tests.virtual import FakeClock


class EmbeddedWorld(PlatformWorld):
    """All at once in one thread, in virtual time."""

    settings = Settings(threads=False, synchronous="OFF")

    async def __aenter__(self) -> Self:
        self.clock = self.make_clock()
        self._open = AsyncExitStack()
        self.driver = await self.open()
        assert await self.driver.lead()
        self.front = await self.open()
        return self

    async def __aexit__(self, *fault: object) -> None:
        await self._open.aclose()

    def make_clock(self) -> Clock:
        return FakeClock()

    async def open(self) -> Store:
        """Open the home once more, as another process would."""
        return await self._open.enter_async_context(
            open_store(self.folder / "home", self.clock, settings=self.settings)
        )

    async def successor(self) -> Store:
        """Somebody removed the lock's file while the driver was frozen."""
        self.driver.home.joinpath("driver.lock").unlink()
        successor = await self.open()
        assert await successor.lead()
        return successor

    def put_secret(self, namespace: str, name: str, key: str, value: str) -> None:
        file = self.folder / "home" / "secrets" / name / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(value)


class ThreadedWorld(EmbeddedWorld):
    """With threads and in real time, as people have it."""

    settings = Settings(watch_every=0.002)

    def make_clock(self) -> Clock:
        return FakeClock()  # over the loop's time, which is the real one here
