"""
A new manager is one file: this one, with its world and its tests, touches no other.

It runs jobs that are rows of a dict. `docs/managers/README.md` starts from here.
"""

from bascule.errors import Mistake
from bascule.model import (
    Absent,
    Check,
    Chunk,
    Found,
    Handle,
    Health,
    Match,
    Observation,
    Phase,
    Reason,
    Report,
    Stray,
    belongs_to,
)
from bascule.ports import Abilities
from tests.contracts.manager import ManagerContract
from tests.contracts.manager_world import ManagerWorld
from tests.virtual import FakeClock


class ToyManager:
    """Jobs that run as soon as they are submitted, under the ids that we choose."""

    abilities = Abilities(key="chosen", walltime=False, settles=0.0)

    def __init__(self, clock):
        self.clock = clock
        self.jobs: dict[str, Report] = {}

    def check(self, job):
        if job.spec.options or job.spec.array or job.spec.hold:
            raise Mistake(f"a toy cannot do all that `{job.name}` asks", problems=tuple(job.spec.options))

    async def submit(self, order):
        if order.held:
            raise Mistake("a toy cannot hold")
        self.jobs.setdefault(order.key, Report(Phase.RUNNING, "on", started_at=self.clock.now()))
        return Handle(order.key, order.key)

    async def find(self, key, since, *, may_have_run=False):
        report = self.jobs.get(key)
        return Found((Match(Handle(key, key), report),)) if report else Absent("not in the box", self.clock.now())

    async def observe(self, handles, cursor=""):
        now = self.clock.now()
        return Observation(now, {h.id: self.jobs.get(h.id) or Absent("not in the box", now) for h in handles})

    async def cancel(self, handle, index=None):
        if handle.id in self.jobs and not self.jobs[handle.id].is_over:
            self.jobs[handle.id] = Report(Phase.CANCELLED, "off", finished_at=self.clock.now())

    async def sweep(self, installation):
        return [Stray(key, Handle(key, key), held=False) for key in self.jobs if belongs_to(key, installation)]

    async def forget(self, handle):
        self.jobs.pop(handle.id, None)

    async def read(self, handle, stream, offset, limit, index=None):
        return Chunk(b"", offset, 0, gone=True)

    async def probe(self):
        return Health(True, True, True, version="toy 1", checks=(Check("open the box", ok=True),))

    async def aclose(self):
        pass

    async def cannot(self, handle, *more):
        raise Mistake("a toy cannot do that")

    release = signal = hold = unhold = update = cannot


class ToyWorld(ManagerWorld):
    abilities = ToyManager.abilities

    def __init__(self, folder):
        super().__init__(folder)
        self.clock = FakeClock()
        self.manager = ToyManager(self.clock)

    async def finish(self, handle, *, exit_code=0, signal=None):
        phase = Phase.FAILED if exit_code or signal else Phase.SUCCEEDED
        reason = Reason.SIGNAL if signal else Reason.EXIT_CODE if exit_code else ""
        now, started = self.clock.now(), self.manager.jobs[handle.id].started_at
        self.manager.jobs[handle.id] = Report(
            phase, "off", reason, exit_code=exit_code, signal=signal, started_at=started, finished_at=now
        )

    def starts(self, key):
        return int(key in self.manager.jobs)


class TestToy(ManagerContract):
    world_type = ToyWorld
