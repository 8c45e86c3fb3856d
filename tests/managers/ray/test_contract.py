"""Ray keeps the contract of managers, with heads that wrap an agent's no and with those that do not."""

from __future__ import annotations

from tests.contracts.manager import ManagerContract
from tests.managers.ray.worlds import RayWorld


class OldWorld(RayWorld):
    wraps = False
    version = "2.9.3"


class TestNew(ManagerContract):
    world_type = RayWorld
    loop_factory = None


class TestOld(ManagerContract):
    world_type = OldWorld
    loop_factory = None
