"""LSF keeps the contract of managers in both interfaces, against a strict fake that really runs the jobs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bascule.managers.lsf import abilities
from tests.contracts.manager import ManagerContract
from tests.managers.lsf.worlds import LsfWorld

pytestmark = pytest.mark.slow


class NewWorld(LsfWorld):
    abilities = abilities


class OldWorld(LsfWorld):
    """Before 9.1.5: 200 to everything, long state words, no history."""

    old = True
    submission = "Direct"
    abilities = replace(abilities, history=False)


class TestNew(ManagerContract):
    world_type = NewWorld
    loop_factory = None


class TestOld(ManagerContract):
    world_type = OldWorld
    loop_factory = None
