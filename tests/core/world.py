"""
A world for tests of the core: production code in the middle, everything around it made for the purpose.

Time is virtual, the store is in memory, the cluster is fake and keeps a ledger; workers,
watch, monitors, sweeper and rules are the real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Self

from msgspec.structs import replace

from bascule.model import (
    Event,
    Job,
    JobSpec,
    JobStatus,
    Phase,
    Ref,
    Run,
    Target,
    TargetRef,
    TargetSpec,
    from_json,
    to_json,
)
from bascule.ports import Abilities, Clock, Order
from bascule.runner import Pace
from tests.core.process import Gate, Process
from tests.fakes.course import OutsideJob
from tests.fakes.faults import Faults, Weather
from tests.fakes.kinds import HELD
from tests.fakes.ledger import Ledger
from tests.fakes.manager import FakeManager
from tests.fakes.outside import Outside
from tests.fakes.platform import MemoryPlatform, Objects
from tests.virtual import FakeClock

PACE = Pace(per_target=4)


class Recorded(Objects):
    """Stored objects that remember every state a job was in, and prove that each survives being written."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.states: dict[str, list[Job]] = {}

    def put_job(self, job: Job) -> Job:
        """Store *job* as JSON would bring it back."""
        stored = super().put_job(from_json(to_json(job), Job))
        self.states.setdefault(job.uid, []).append(stored)
        return stored

    def assert_ends_are_final(self) -> None:
        """Fail where a job ever left a final phase."""
        for states in self.states.values():
            for before, after in pairwise(states):
                same = before.status.phase is after.status.phase
                assert same or not before.status.phase.is_final, f"left a final phase: {before} {after}"


class World:
    """One target, one store, and a process that drives them; more processes may follow."""

    def __init__(self, abilities: Abilities = HELD, **target: Any) -> None:
        self.clock = FakeClock()
        self.outside = Outside(self.clock, history=abilities.history)
        self.weathers: dict[str, Weather] = {}
        self.objects = Recorded(self.clock)
        self.front = MemoryPlatform(self.clock, self.objects)
        self.managers: list[FakeManager] = []
        self.process: Process
        self._abilities = abilities
        self._spec = TargetSpec(manager="fake", **target)

    async def __aenter__(self) -> Self:
        """Start the first process."""
        await self.add_target("there")
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all, and look whether what must hold at any time has held."""
        await self.process.kill()
        if self.process.died is not None:
            raise self.process.died
        self.objects.assert_ends_are_final()

    @property
    def ledger(self) -> Ledger:
        """What really happened outside."""
        return self.outside.ledger

    # Processes

    def start(self) -> Process:
        """Start a process, which takes over from any other."""
        self.process = Process(self.objects, self.clock, self._manager_for, pace=PACE)
        return self.process

    async def crash(self) -> None:
        """Kill the process where it stands, and start another over the same store."""
        await self.process.kill()
        self.start()

    # What goes wrong

    @property
    def faults(self) -> Faults:
        """Where faults on the line to the cluster are ordered."""
        return self.faults_at("there")

    def faults_at(self, target: str) -> Faults:
        """Where faults on the line of a target are ordered."""
        weather = self.weathers.setdefault(target, Faults())
        assert isinstance(weather, Faults)
        return weather

    # What people do

    async def add_target(self, name: str) -> None:
        """Make a target that leads to the same cluster, with a line of its own."""
        await self.front.put_target(Target("default", name, "", self._spec))

    async def submit(self, name: str = "job", *, target: str = "there", **spec: Any) -> None:
        """Have a job accepted."""
        run = {"run": Run(command=("true",))} if "adopt" not in spec else {}
        await self.front.create(Job("default", name, "", JobSpec(TargetRef(target), **{**run, **spec})))

    async def change(self, name: str = "job", **spec: Any) -> None:
        """Change a job's spec."""
        job = self.stored(name)
        await self.front.change(replace(job, spec=replace(job.spec, **spec)))

    async def annotate(self, annotation: str, value: str, *, name: str = "job") -> None:
        """Annotate a job."""
        await self.front.change(replace(self.stored(name), annotations={annotation: value}))

    async def delete(self, name: str = "job") -> None:
        """Delete a job."""
        await self.front.delete(Ref("default", name))

    # What can be seen

    def job(self, name: str = "job") -> Job | None:
        """Return the job as it is stored, or None where it is gone."""
        return self.objects.jobs.get(Ref("default", name))

    def stored(self, name: str = "job") -> Job:
        """Return the job as it is stored."""
        job = self.job(name)
        assert job is not None, f"there is no job `{name}`"
        return job

    def status(self, name: str = "job") -> JobStatus:
        """Return the job's status as it is stored."""
        return self.stored(name).status

    def phase_of(self, name: str = "job") -> Phase:
        """Return the job's phase."""
        return self.status(name).phase

    def target(self, name: str = "there") -> Target:
        """Return a target as it is stored."""
        return self.objects.targets[Ref("default", name)]

    def events(self, name: str = "job") -> list[Event]:
        """Return what was told about the job."""
        return self.objects.events.get(self.stored(name).uid, [])

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
            if self.clock.monotonic() > ends:
                seen = {str(ref): job.status for ref, job in self.objects.jobs.items()}
                raise AssertionError(f"{what or 'it'} did not happen within {within} s: {seen}")
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
        manager = FakeManager(
            self.outside, self._abilities, clock=gate, weather=self.weathers.setdefault(target.name, Faults())
        )
        self.managers.append(manager)
        return manager
