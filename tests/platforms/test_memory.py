"""The platform in memory, which tests of the core use, keeps the contract of the real ones."""

from __future__ import annotations

from typing import Self

from tests.contracts.platform import PlatformContract
from tests.contracts.platform_world import PlatformWorld
from tests.fakes.platform import MemoryPlatform
from tests.virtual import FakeClock


class MemoryWorld(PlatformWorld):
    async def __aenter__(self) -> Self:
        self.clock = FakeClock()
        self.driver = MemoryPlatform(self.clock)
        self.front = MemoryPlatform(self.clock, self.driver.objects)
        return self

    async def __aexit__(self, *fault: object) -> None:
        pass

    async def successor(self) -> MemoryPlatform:
        return self.driver.taken_over()

    def put_secret(self, namespace: str, name: str, key: str, value: str) -> None:
        self.driver.put_secret(namespace, name, key, value)


class TestMemory(PlatformContract):
    world_type = MemoryWorld
