"""A quantum service keeps the contract of managers, against our own gateway over real HTTP."""

from __future__ import annotations

from tests.contracts.manager import ManagerContract
from tests.managers.quantum.worlds import QuantumWorld


class TestQuantum(ManagerContract):
    world_type = QuantumWorld
    loop_factory = None
