"""
What every manager owes, as tests to inherit.

    class TestToy(ManagerContract):
        world_type = ToyWorld

A behaviour that the manager's abilities do not promise, or that its world has no hook for, is left out
(`tests.contracts.owed`). The behaviours are in the files beside this one, by subject.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.contracts.manager_finding import Finding
from tests.contracts.manager_observing import Observing
from tests.contracts.manager_output import Output
from tests.contracts.manager_stopping import Stopping
from tests.contracts.manager_submitting import Submitting
from tests.contracts.manager_troubles import Troubles
from tests.contracts.manager_world import ManagerWorld
from tests.contracts.owed import leave_out
from tests.virtual import VirtualLoop


class ManagerContract(Submitting, Finding, Observing, Stopping, Output, Troubles):
    """Inherit from this, and say in what world; `loop_factory` None is a loop in real time."""

    world_type: ClassVar[type[ManagerWorld]]
    loop_factory: ClassVar[Any] = VirtualLoop
    left_out: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls) -> None:
        """Leave out what this manager does not owe."""
        cls.left_out = leave_out(cls, cls.world_type, cls.world_type.abilities)

    @pytest.fixture
    async def world(self, tmp_path: Path) -> AsyncIterator[ManagerWorld]:
        async with self.world_type(tmp_path) as world:
            yield world

    async def test_is_judged_by_the_abilities_it_claims(self, world, record_property):
        """
        What was left out was left out for what the manager itself says of itself.
        """
        record_property("left out", "; ".join(f"{test}: {need}" for test, need in self.left_out.items()))

        assert self.world_type.abilities == world.manager.abilities
