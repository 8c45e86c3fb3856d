"""The world in which a platform is tested: two processes, a successor, and nouns to write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from bascule.model import (
    Adopt,
    After,
    Array,
    Attempt,
    Condition,
    Deadlines,
    Duration,
    Event,
    Files,
    Gpus,
    Handle,
    Input,
    Intent,
    Job,
    JobSpec,
    JobStatus,
    ManagerView,
    Output,
    Phase,
    Quantity,
    Reason,
    Resources,
    Retry,
    Run,
    SecretKey,
    Source,
    Stop,
    StopCause,
    StoredFile,
    Target,
    TargetRef,
    TargetSpec,
    Tasks,
    Warn,
)
from bascule.ports import Change, Clock

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


class PlatformWorld:
    """
    One platform, seen by two processes.

    *driver* leads and may save; *front* is what a person in another process has. Both
    are `Platform` and `Front` where the platform has one class for both.
    """

    driver: Any
    front: Any
    clock: Clock
    largest_script = 1 << 20
    takes_any_text = True
    """Whether names, labels and annotations may be any text, where people write none that Kubernetes would not take."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names = count(1)

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(self, *fault: object) -> None:
        raise NotImplementedError

    async def successor(self) -> Any:
        """Let another process take over although the driver still runs, as if it had been frozen."""
        raise NotImplementedError

    def put_secret(self, namespace: str, name: str, key: str, value: str) -> None:
        """Store one value of a secret."""
        raise NotImplementedError

    async def a_moment(self) -> None:
        """Wait until what is created next is younger, as far as the platform can tell."""

    def script(self, text: str) -> str:
        """Return a script that this platform takes, and that ends in *text*."""
        return text

    def every_field_of_spec(self) -> JobSpec:
        """Return a spec with every field, as far as the platform lets them stand together."""
        return EVERY_FIELD_OF_SPEC

    def target(self, name: str = "hpc", **fields: Any) -> Target:
        """Return a target that is not stored yet."""
        return Target(namespace="default", name=name, uid="", spec=TargetSpec(manager="slurm", **fields))

    def job(self, name: str = "", **fields: Any) -> Job:
        """Return a job that is not stored yet."""
        script = self.script(fields.pop("script", "#!/bin/sh\necho hello\n"))
        spec = fields.pop("spec", JobSpec(target=TargetRef("local"), run=Run(script=script)))
        return Job(namespace=fields.pop("namespace", "default"), name=name or self.name(), uid="", spec=spec, **fields)

    def name(self) -> str:
        """Return a name that is free."""
        return f"job-{next(self._names)}"

    async def stored(self, name: str = "", **fields: Any) -> Job:
        """Return a job that a person has created."""
        return await self.front.create(self.job(name, **fields))

    async def saved(self, phase: Phase, **fields: Any) -> Job:
        """Return a job that has come as far as *phase*."""
        job = await self.stored(**fields)
        return await self.driver.save(in_phase(job, phase))

    async def names(self, selector: Any) -> list[str]:
        """Return the names of the jobs that *selector* lists."""
        async with aclosing(self.front.list(selector)) as jobs:
            return [job.name async for job in jobs]


def in_phase(job: Job, phase: Phase, **fields: Any) -> Job:
    """Return *job* with a status of *phase*."""
    return replace(job, status=replace(job.status, phase=phase, **fields))


def event(reason: str = "Submitted", message: str = "as 4711", *, after: float = 0) -> Event:
    """Return an event, some seconds after noon."""
    return Event(at=NOON + timedelta(seconds=after), reason=reason, message=message)


async def told(watch: AsyncIterator[Change], *wanted: Change) -> None:
    """Wait until *watch* has told of all *wanted*; it may tell of more."""
    missing = set(wanted)
    async with asyncio.timeout(20):
        while missing:
            missing.discard(await anext(watch))


def change_of(job: Job) -> Change:
    """Return how a watch tells of *job*."""
    return Change("job", job.ref)


HOUR = Duration(hours=1)

EVERY_FIELD_OF_SPEC = JobSpec(
    target=TargetRef("hpc", "shared"),
    run=Run(command=("python", "-c", "print('é')")),
    arguments=("--epochs", "3", ""),
    env={"A": "1", "B": "ü = \n"},
    secret_env={"TOKEN": SecretKey("keys", "api")},
    working_directory="/scratch/é",
    output="o.txt",
    error="e.txt",
    resources=Resources(2, 8, 2, Quantity("16Gi"), Gpus(1, "a100"), HOUR),
    array=Array("0-99:2", 10),
    files=Files((Input("a", content="x\0y"), Input("b", store="s", key="k")), (Output("*.npz", "s", "p/"),)),
    after=(After("prepare", "Finished"),),
    retry=Retry(2, (Reason.NODE_FAILED,)),
    deadlines=Deadlines(HOUR, HOUR, HOUR),
    signal=Warn("USR1", HOUR),
    options={"account": "p1", "nested": {"list": [1, 2.5, None, True]}},
    cancel=True,
    hold=True,
    suspend=True,
    adopt=Adopt("4711"),
    on_delete="Detach",
    ttl_after_finished=HOUR,
)

EVERY_FIELD_OF_STATUS = JobStatus(
    phase=Phase.FAILED,
    reason="TimedOut",
    message="ran out of its walltime: “TIMEOUT”",
    id="4711",
    key="train-abc-12345678-1",
    attempt=2,
    exit_code=143,
    signal=15,
    manager=ManagerView("TIMEOUT", "None", ("n1", "n2"), 1, NOON),
    observed_at=NOON,
    observed_by=Source.HISTORY,
    submitted_at=NOON,
    started_at=NOON,
    finished_at=NOON,
    tasks=Tasks(100, 40, 1, 0, 10, "17"),
    outputs=(StoredFile("a.npz", 12, "ab", "s", "k"),),
    attempts=(
        Attempt(1, "k-1", "4710", Phase.FAILED, "NodeFailed", "gone", 1, 9, NOON, NOON, Tasks(3, 1, 2), "place"),
    ),
    observed_generation=3,
    conditions=(Condition("Failed", "True", "TimedOut", "…", NOON, 3),),
    intent=Intent(NOON, NOON, held=True, tries=2),
    handle=Handle("4711", "k", NOON, "instance", "place"),
    released_at=NOON,
    stop=Stop(StopCause.CANCEL, NOON, NOON, 2),
    holding=True,
    warned_at=NOON,
    walltime=HOUR,
    unknown_since=NOON,
    queued_since=NOON,
    not_before=NOON,
    retries=1,
)
