"""
The fake managers owe the contract like any other: what is tested against them is tested against something true.
"""

from __future__ import annotations

from typing import ClassVar

from bascule.ports import Abilities
from tests.contracts.manager import ManagerContract
from tests.contracts.manager_world import ManagerWorld
from tests.fakes.course import BY_HAND
from tests.fakes.faults import DOUBLED, HANGS, REFUSED, REJECTED, REPLY_LOST, REQUEST_LOST, late
from tests.fakes.kinds import BLIND, CHOSEN, FORGETFUL, HELD
from tests.fakes.manager import FakeManager
from tests.fakes.outside import Outside
from tests.virtual import FakeClock

LATE = 300.0


class FakeWorld(ManagerWorld):
    """The fake cluster, all of whose jobs are moved by hand."""

    waits = True
    abilities: ClassVar[Abilities]

    def __init__(self, folder):
        super().__init__(folder)
        self.clock = FakeClock()
        self.outside = Outside(self.clock, course=BY_HAND, history=self.abilities.history)
        self.manager = FakeManager(self.outside, self.abilities, clock=self.clock)

    async def start(self, handle):
        self.outside.start(self.outside.live[handle.id])

    async def finish(self, handle, *, exit_code=0, signal=None):
        self.outside.finish(self.outside.live[handle.id], exit_code=exit_code, signal=signal)

    def starts(self, key):
        return len(self.outside.ledger.starts(key))

    async def purge(self, handle):
        await self.clock.sleep(self.outside.keeps_for)
        self.outside.purge(self.outside.live[handle.id])

    async def reuse(self, handle):
        job = self.outside.reuse(self.outside.live[handle.id])
        self.outside.start(job)
        return job.id

    def still_runs(self, stranger):
        return self.outside.live[stranger].state == "RUNNING"

    async def say(self, handle, word):
        self.outside.say(self.outside.live[handle.id], word)

    async def write(self, handle, data):
        self.outside.write(self.outside.live[handle.id], data)

    def signals(self, key):
        return [entry.note for entry in self.outside.ledger.of(key, "signal")]

    def cut(self, call, when):
        self.manager.faults.next(call, REQUEST_LOST if when == "before" else REPLY_LOST)

    def refuse(self, call):
        self.manager.faults.next(call, REFUSED)

    def delay(self, call):
        self.manager.faults.next(call, late(LATE))

    async def arrive(self):
        await self.clock.sleep(LATE)

    def double(self, call):
        self.manager.faults.next(call, DOUBLED)

    def reject(self, call):
        self.manager.faults.next(call, REJECTED)

    def stall(self, call):
        self.manager.faults.next(call, HANGS)

    def lock(self):
        self.outside.locked = True

    def requests(self):
        return self.manager.requests.total()


class ChosenWorld(FakeWorld):
    abilities = CHOSEN


class HeldWorld(FakeWorld):
    abilities = HELD


class ForgetfulWorld(FakeWorld):
    abilities = FORGETFUL


class BlindWorld(FakeWorld):
    abilities = BLIND


class TestChosen(ManagerContract):
    world_type = ChosenWorld


class TestHeld(ManagerContract):
    world_type = HeldWorld


class TestForgetful(ManagerContract):
    world_type = ForgetfulWorld


class TestBlind(ManagerContract):
    world_type = BlindWorld
