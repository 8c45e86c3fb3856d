"""
A world for tests of the core: production code in the middle, everything around it made for the purpose.

Time is virtual, the store is in memory, the cluster is fake and keeps a ledger; workers,
watch, monitors, sweeper and rules are the real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from bascule.model import Event, Job, JobSpec, JobStatus, Phase, Ref, Run, Target, TargetRef, TargetSpec
from bascule.ports import Abilities, Order
from bascule.runner import Pace
from tests.core.memory import Store, left_a_final_phase
from tests.core.process import Gate, Process
from tests.fakes.course import OutsideJob
from tests.fakes.faults import Faults
from tests.fakes.kinds import HELD
from tests.fakes.ledger import Ledger
from tests.fakes.manager import FakeManager
from tests.fakes.outside import Outside
from tests.virtual import FakeClock

PACE = Pace(workers=8)


class World:
    """One target, one store, and a process that drives them; more processes may follow."""

    def __init__(self, abilities: Abilities = HELD, **target: Any) -> None:
        self.clock = FakeClock()
        self.outside = Outside(self.clock, history=abilities.history)
        self.faults = Faults()
        self.store = Store(self.clock)
        self.managers: list[FakeManager] = []
        self._abilities = abilities
        self._spec = TargetSpec(manager="fake", **target)
        self._uids = 0
        self.process: Process

    async def __aenter__(self) -> Self:
        """Start the first process."""
        made = Target("default", "there", "target-uid", self._spec, created_at=self.clock.now())
        self.store.targets[made.ref] = made
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all, and look whether what must hold at any time has held."""
        await self.process.kill()
        if self.process.died is not None:
            raise self.process.died
        for history in self.store.history.values():
            assert not left_a_final_phase(history), "a final phase was left"

    @property
    def ledger(self) -> Ledger:
        """What really happened outside."""
        return self.outside.ledger

    # Processes

    def start(self) -> Process:
        """Start a process, which takes over from any other."""
        self.process = Process(self.store, self.clock, self._manager_for, pace=PACE)
        return self.process

    async def crash(self) -> None:
        """Kill the process where it stands, and start another over the same store."""
        await self.process.kill()
        self.start()

    # What people do

    async def submit(self, name: str = "job", *, uid: str = "", **spec: Any) -> None:
        """Have a job accepted."""
        self._uids += 1
        run = {"run": Run(command=("true",))} if "adopt" not in spec else {}
        job = Job("default", name, uid or f"uid-{self._uids}", JobSpec(TargetRef("there"), **{**run, **spec}))
        self.store.create(job)

    def change(self, name: str = "job", **spec: Any) -> None:
        """Change a job's spec."""
        self.store.change(Ref("default", name), **spec)

    def delete(self, name: str = "job") -> None:
        """Delete a job."""
        self.store.delete(Ref("default", name))

    def annotate(self, name: str = "job", **annotations: str) -> None:
        """Annotate a job."""
        self.store.annotate(Ref("default", name), **annotations)

    # What can be seen

    def job(self, name: str = "job") -> Job | None:
        """Return the job as it is stored."""
        return self.store.get(Ref("default", name))

    def status(self, name: str = "job") -> JobStatus:
        """Return the job's status as it is stored."""
        job = self.job(name)
        assert job is not None, f"there is no job `{name}`"
        return job.status

    def phase_of(self, name: str = "job") -> Phase:
        """Return the job's phase."""
        return self.status(name).phase

    def events(self, name: str = "job") -> list[Event]:
        """Return what was told about the job."""
        return self.store.events[Ref("default", name)]

    def outside_jobs(self, name: str = "job") -> list[OutsideJob]:
        """Return the outside jobs that bear a key of the job of that name, living or past."""
        return self.outside.with_key(name)

    @property
    def orders(self) -> list[Order]:
        """Return what all processes have submitted."""
        return [order for manager in self.managers for order in manager.orders]

    @property
    def requests(self) -> dict[str, int]:
        """How many requests of each kind all processes have made."""
        calls = {call for manager in self.managers for call in manager.requests}
        return {call: sum(manager.requests[call] for manager in self.managers) for call in calls}

    # Waiting

    async def until(self, happens: Callable[[], object], *, within: float = 7200.0, what: str = "") -> None:
        """Let time pass until *happens* is true."""
        ends = self.clock.monotonic() + within
        while not happens():
            if self.process.died is not None:
                raise self.process.died
            seen = {str(ref): (job.status if (job := self.store.get(ref)) else None) for ref in self.store.jobs}
            assert self.clock.monotonic() < ends, f"{what or 'it'} did not happen within {within} s: {seen}"
            await self.clock.sleep(0.25)

    async def until_phase(self, *phases: Phase, name: str = "job", within: float = 7200.0) -> None:
        """Let time pass until the job is in one of *phases*."""
        await self.until(lambda: self.phase_of(name) in phases, within=within, what=f"`{name}` in {phases}")

    async def settle(self, name: str = "job", *, within: float = 7200.0) -> None:
        """Let time pass until the job is over, or gone."""
        await self.until(
            lambda: (job := self.job(name)) is None or job.status.phase.is_final, within=within, what=f"`{name}` over"
        )

    async def gone(self, name: str = "job", *, within: float = 7200.0) -> None:
        """Let time pass until the job's object is gone."""
        await self.until(lambda: self.job(name) is None, within=within, what=f"`{name}` gone")

    async def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        await self.clock.sleep(seconds)

    def _manager_for(self, gate: Gate, target: Target) -> FakeManager:
        manager = FakeManager(self.outside, self._abilities, clock=gate, weather=self.faults)
        self.managers.append(manager)
        return manager
