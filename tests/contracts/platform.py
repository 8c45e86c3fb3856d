"""
What every platform owes, as tests to inherit.

    class TestMemory(PlatformContract):
        world_type = MemoryWorld

The behaviours are in the files beside this one, by subject.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.contracts.platform_driving import Driving, Events
from tests.contracts.platform_reading import Listing, Secrets, Watching
from tests.contracts.platform_wishes import Jobs, Targets
from tests.contracts.platform_world import PlatformWorld
from tests.virtual import VirtualLoop


class PlatformContract(Jobs, Targets, Driving, Events, Listing, Watching, Secrets):
    """Inherit from this, and say in what world; `loop_factory` None is a loop in real time."""

    world_type: ClassVar[type[PlatformWorld]]
    loop_factory: ClassVar[Any] = VirtualLoop

    @pytest.fixture
    async def world(self, tmp_path: Path) -> AsyncIterator[PlatformWorld]:
        async with self.world_type(tmp_path) as world:
            yield world
