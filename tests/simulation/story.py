"""
What happens in one simulation, all of it from one seed: which manager, which jobs, what people
ask of them, what the network and the machines do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from bascule.model import Deadlines, Duration, Job, JobSpec, Reason, Resources, Retry, Run, TargetRef
from bascule.ports import Abilities
from tests.fakes import faults
from tests.fakes.course import Course
from tests.fakes.faults import Fault
from tests.fakes.kinds import CHOSEN, FORGETFUL, HELD

KINDS = {"slurm": HELD, "ray": CHOSEN, "lsf": FORGETFUL}
CALLS_THAT_LOOK = frozenset({"observe", "find", "probe", "sweep"})


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that a person or the world does, so many seconds after the start."""

    at: float
    what: str
    job: str = ""
    amount: float = 0.0


@dataclass(slots=True)
class Story:
    """One run, before it happens."""

    seed: int
    kind: str
    abilities: Abilities
    jobs: list[tuple[float, Job]] = field(default_factory=list)
    courses: dict[str, tuple[Course, ...]] = field(default_factory=dict)
    deeds: list[Deed] = field(default_factory=list)
    storm_until: float = 60.0
    storm: float = 0.3
    purge_after: float | None = None
    completes_in: float = 0.0


def story_of(seed: int) -> Story:
    """Return the story that *seed* tells; the same each time."""
    luck = Random(seed)
    kind = luck.choice(sorted(KINDS))
    story = Story(seed, kind, KINDS[kind])
    story.storm_until = luck.choice([20.0, 60.0, 180.0])
    story.storm = luck.choice([0.0, 0.1, 0.3, 0.6])
    if story.abilities.key == "searched":  # the other kind keeps what ended, until it is started anew
        story.purge_after = luck.choice([None, None, 5.0, 60.0])
    story.completes_in = luck.choice([0.0, 0.0, 8.0])
    for number in range(luck.choice([1, 1, 2, 3])):
        name = f"job-{number}"
        story.jobs.append((luck.uniform(0, 5), _job(name, luck)))
        story.courses[name] = tuple(_course(luck) for _ in range(3))
        if luck.random() < 0.4:
            what = luck.choice(["cancel", "cancel", "delete", "suspend", "hold"])
            story.deeds.append(Deed(luck.uniform(0.01, 60), what, name, luck.uniform(1, 60)))
    for _ in range(luck.choice([0, 1, 1, 2, 3])):
        what = luck.choice(["crash", "crash", "freeze", "restart", "down", "wander", "disk", "babble"])
        story.deeds.append(Deed(luck.uniform(0, story.storm_until), what, amount=luck.uniform(0.5, 90)))
    story.deeds.sort(key=lambda deed: deed.at)
    return story


def _job(name: str, luck: Random) -> Job:
    reasons = (Reason.NODE_FAILED, Reason.PREEMPTED, Reason.LOST)
    spec = JobSpec(
        target=TargetRef("outside"),
        run=Run(script="#!/bin/sh\n"),
        retry=Retry(limit=luck.choice([0, 0, 1, 2]), reasons=reasons),
        resources=Resources(walltime=luck.choice([None, Duration(minutes=10)])),
        deadlines=Deadlines(unknown=Duration(minutes=30)),
    )
    return Job("default", name, "", spec)


def _course(luck: Random) -> Course:
    word, exit_code = luck.choice([("", 0), ("", 0), ("", 3), ("NODE_FAIL", 0), ("PREEMPTED", 0)])
    return Course(
        starts_after=luck.choice([0.0, 1.0, 20.0]),
        runs_for=luck.choice([0.0, 3.0, 40.0]),
        exit_code=exit_code,
        word=word,
    )


class SeededWeather:
    """Faults by chance while the storm lasts; none afterwards."""

    def __init__(self, story: Story, luck: Random, now: object) -> None:
        self._story = story
        self._luck = luck
        self._now = now

    def fault_of(self, call: str) -> Fault | None:
        """Return what goes wrong with this *call*."""
        if self._now() > self._story.storm_until or self._luck.random() > self._story.storm:  # type: ignore[operator]
            return None
        luck = self._luck
        odd = [faults.PARTIAL, faults.EMPTY, faults.UNCHANGED] if call == "observe" else []
        twice = [faults.DOUBLED] if self._story.abilities.holds or self._story.abilities.key == "chosen" else []
        silent = [faults.HANGS, faults.REQUEST_LOST, faults.REPLY_LOST]
        late = [] if call in CALLS_THAT_LOOK else [faults.late(luck.uniform(0, 50))]
        return luck.choice(
            [faults.REFUSED, faults.busy(luck.uniform(1, 9)), faults.slow(luck.uniform(0, 40)), faults.UNAUTHORIZED]
            + silent
            + late
            + twice
            + odd
        )
