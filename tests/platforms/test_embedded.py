"""The embedded platform keeps the contract, with threads in real time and without in virtual time."""

from __future__ import annotations

from tests.contracts.platform import PlatformContract
from tests.platforms.embedded_world import EmbeddedWorld, ThreadedWorld


class TestEmbedded(PlatformContract):
    world_type = EmbeddedWorld


class TestEmbeddedWithThreads(PlatformContract):
    world_type = ThreadedWorld
    loop_factory = None
