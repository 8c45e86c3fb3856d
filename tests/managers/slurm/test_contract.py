"""Slurm keeps the contract of managers in every shape of its API, against a strict fake over real HTTP."""

from __future__ import annotations

from msgspec.structs import replace

from tests.contracts.manager import ManagerContract
from tests.managers.slurm.worlds import ABILITIES, SlurmWorld


class NewWorld(SlurmWorld):
    version = "v0.0.45"
    shares = True
    abilities = replace(ABILITIES, output=True)


class MiddleWorld(SlurmWorld):
    version = "v0.0.42"
    abilities = ABILITIES


class OldWorld(SlurmWorld):
    """22.05 without accounting, and without the hold: what remembers least."""

    version = "v0.0.38"
    accounting = False
    submission = "Direct"
    abilities = replace(ABILITIES, history=False, warns=False, recalls=False)


class OldRememberingWorld(SlurmWorld):
    version = "v0.0.38"
    shares = True
    abilities = replace(ABILITIES, output=True, warns=False)


class TestNew(ManagerContract):
    world_type = NewWorld
    loop_factory = None


class TestMiddle(ManagerContract):
    world_type = MiddleWorld
    loop_factory = None


class TestOld(ManagerContract):
    world_type = OldWorld
    loop_factory = None


class TestOldRemembering(ManagerContract):
    world_type = OldRememberingWorld
    loop_factory = None
