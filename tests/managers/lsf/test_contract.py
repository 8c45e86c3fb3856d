"""LSF keeps the contract of managers in both interfaces, against a strict fake that really runs the jobs."""

from __future__ import annotations

from msgspec.structs import replace

from tests.contracts.manager import ManagerContract
from tests.managers.lsf.worlds import ABILITIES, LsfWorld


class NewWorld(LsfWorld):
    abilities = ABILITIES


class DirectWorld(LsfWorld):
    """Without the hold: absence must be proven otherwise."""

    submission = "Direct"
    abilities = ABILITIES


class OldWorld(LsfWorld):
    """Before 9.1.5: 200 to everything, long state words, no history."""

    old = True
    submission = "Direct"
    abilities = replace(ABILITIES, history=False)


class TestNew(ManagerContract):
    world_type = NewWorld
    loop_factory = None


class TestDirect(ManagerContract):
    world_type = DirectWorld
    loop_factory = None


class TestOld(ManagerContract):
    world_type = OldWorld
    loop_factory = None
