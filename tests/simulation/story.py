"""
What happens in one simulation, all of it from one seed: which manager, which jobs, what people
ask of them, what the network, the disk and the machines do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from msgspec.structs import replace

from bascule.model import After, Deadlines, Duration, Job, JobSpec, Reason, Resources, Retry, Run, TargetRef, Warn
from bascule.ports import Abilities
from tests.fakes.course import Course
from tests.fakes.kinds import CHOSEN, FORGETFUL, HELD

KINDS = {"slurm": HELD, "ray": CHOSEN, "lsf": FORGETFUL}
UNKNOWN_FOR = 300.0

WORLD = (
    *("crash", "crash", "crash", "freeze", "freeze", "usurp", "rival"),
    *("restart", "restart", "down", "down", "locked", "history", "babble", "requeue", "reuse"),
    *("wander", "full", "shaky"),
)
"""What may befall the world, the frequent several times."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that a person or the world does, so many seconds after the start; *amount* is a length, mostly."""

    at: float
    what: str
    job: str = ""
    amount: float = 0.0

    def __str__(self) -> str:
        return f"{self.what} {self.job} {self.amount:.3f}".replace("  ", " ")


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
    appears_after: float = 0.0
    active_jobs: int | None = None
    confused_notices: bool = False

    @property
    def ends_at(self) -> float:
        """When nothing more is done to the world or asked of it."""
        return max([self.storm_until, *(deed.at + deed.amount for deed in self.deeds)])

    def asked(self, what: str, job: str) -> int:
        """Return how often people asked *what* of *job*."""
        return sum(deed.what == what and deed.job == job for deed in self.deeds)

    def has(self, *whats: str) -> bool:
        """Tell whether one of *whats* is done to the world."""
        return any(deed.what in whats for deed in self.deeds)


def story_of(seed: int) -> Story:
    """Return the story that *seed* tells; the same each time."""
    luck = Random(seed)
    kind = luck.choice(["slurm", "slurm", "ray", "lsf"])
    story = Story(seed, kind, KINDS[kind])
    story.storm_until = luck.choice([15.0, 40.0, 120.0])
    story.storm = luck.choice([0.0, 0.1, 0.3, 0.6])
    if story.abilities.key == "searched":  # the other kind keeps what ended, until it is started anew
        story.purge_after = luck.choice([None, None, 5.0, 60.0, 400.0])
        story.appears_after = luck.choice([0.0, 0.0, 3.0])
    story.completes_in = luck.choice([0.0, 0.0, 8.0])
    story.active_jobs = luck.choice([None, None, None, 1, 2])
    story.confused_notices = luck.random() < 0.3
    for number in range(luck.choice([1, 1, 2, 3])):
        _tell_of_job(story, luck, number)
    for _ in range(luck.choice([0, 1, 1, 2, 3, 4])):
        story.deeds.append(Deed(luck.uniform(0, story.storm_until), luck.choice(WORLD), amount=luck.uniform(0.5, 60)))
    if luck.random() < 0.06:
        _tell_of_backup(story, luck)
    story.deeds.sort(key=lambda deed: deed.at)
    return story


def _tell_of_job(story: Story, luck: Random, number: int) -> None:
    """A job, its courses outside, and what people ask of it."""
    name = f"job-{number}"
    asked: list[str] = []
    if luck.random() < 0.6:
        wishes = ["cancel", "cancel", "cancel", "delete", "delete", "suspend", "deadline"]
        wishes += ["hold", "hold"] * story.abilities.hold + ["walltime", "walltime"] * story.abilities.update_walltime
        asked = luck.sample(wishes, luck.choice([1, 1, 2]))
    spec = JobSpec(
        target=TargetRef("outside"),
        run=Run(script="#!/bin/sh\n"),
        retry=Retry(luck.choice([0, 0, 1, 2]), reasons=(Reason.NODE_FAILED, Reason.PREEMPTED, Reason.LOST)),
        resources=Resources(walltime=luck.choice([None, Duration(seconds=15), Duration(minutes=10)])),
        deadlines=Deadlines(
            queued=luck.choice([None] * 7 + [Duration(seconds=30)]),
            running=luck.choice([None] * 7 + [Duration(seconds=20)]),
            unknown=Duration(seconds=UNKNOWN_FOR),
        ),
        signal=Warn("USR1", Duration(seconds=5)) if luck.random() < 0.1 and story.abilities.signal else None,
        on_delete=luck.choice(["Cancel", "Cancel", "Detach"]),
        hold="hold" in asked and luck.random() < 0.3,
        ttl_after_finished=luck.choice([None] * 9 + [Duration(seconds=60)]),
    )
    if number and luck.random() < 0.25 and not story.asked("delete", f"job-{number - 1}"):
        before = story.jobs[-1][1]
        if before.spec.ttl_after_finished is None:
            spec = replace(spec, after=(After(before.name, luck.choice(["Succeeded", "Failed", "Finished"])),))
            asked = [what for what in asked if what != "delete"]
    begins = luck.uniform(0, 5)
    story.jobs.append((begins, Job("default", name, "", spec)))
    for what in asked:
        soon_or_later = luck.choice([1.0, 10.0, 50.0])
        story.deeds.append(Deed(begins + luck.uniform(0.01, soon_or_later), what, name, luck.uniform(1, 50)))
    stops = spec.resources.walltime or spec.deadlines.running or {"cancel", "delete"} & set(asked)
    story.courses[name] = tuple(_course(luck, may_last=bool(stops)) for _ in range(3))


def _course(luck: Random, *, may_last: bool) -> Course:
    word, exit_code = luck.choice([("", 0), ("", 0), ("", 3), ("NODE_FAIL", 0), ("PREEMPTED", 0)])
    return Course(
        starts_after=luck.choice([0.0, 1.0, 20.0]),
        runs_for=luck.choice([0.0, 3.0, 40.0, None if may_last else 10.0]),
        exit_code=exit_code,
        word=word,
    )


def _tell_of_backup(story: Story, luck: Random) -> None:
    """A copy of the database is made, and later put in its place."""
    taken = luck.uniform(6, 30)
    story.deeds.append(Deed(taken, "backup"))
    story.deeds.append(Deed(taken + luck.uniform(1, 60), "restore", amount=luck.uniform(1, 20)))
