"""
What a job is asked to be: the nouns of `spec`, frozen.

These are made by `bascule.spec` from what people write, after it has been checked, and
by the platforms from what they have stored. They hold no rules; field meanings are in
the reference (`docs/reference/job.md`). JSON names are the camelCase of the field names.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bascule.model.phase import Reason
from bascule.model.units import Duration, Quantity


class Noun(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A frozen, slotted value whose JSON is what people see."""


class TargetRef(Noun, frozen=True):
    """Which target; *namespace* only where a shared target lives elsewhere."""

    name: str
    namespace: str | None = None


class Program(Noun, frozen=True):
    """A program that the service itself has."""

    id: str
    params: dict[str, Any] = {}


class Run(Noun, frozen=True):
    """What runs: exactly one of these is set."""

    script: str | None = None
    script_path: str | None = None
    command: tuple[str, ...] | None = None
    program: Program | None = None
    payload: dict[str, Any] | None = None


class SecretKey(Noun, frozen=True):
    """One value of a secret."""

    name: str
    key: str


class Gpus(Noun, frozen=True):
    """How many GPUs on each node, and of which type."""

    count: int
    type: str | None = None


class Resources(Noun, frozen=True):
    """What the job needs. None means: the manager's own default."""

    nodes: int | None = None
    tasks: int | None = None
    cpus_per_task: int | None = None
    memory_per_node: Quantity | None = None
    gpus_per_node: Gpus | None = None
    walltime: Duration | None = None


class Array(Noun, frozen=True):
    """Many tasks of one script: *indices* as ``0-99``, ``1,3,5-9:2``."""

    indices: str
    parallelism: int | None = None


class Input(Noun, frozen=True):
    """A file that must lie at *path* in the working directory before the job starts."""

    path: str
    content: str | None = None
    store: str | None = None
    key: str | None = None
    url: str | None = None
    sha256: str | None = None
    config_map: SecretKey | None = None


class Output(Noun, frozen=True):
    """Files to bring home: *path* is a pattern."""

    path: str
    store: str | None = None
    prefix: str | None = None


class Files(Noun, frozen=True):
    """What is staged in and out."""

    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()


class After(Noun, frozen=True):
    """A predecessor, and what must have become of it."""

    job: str
    when: Literal["Succeeded", "Failed", "Finished"] = "Succeeded"


class Retry(Noun, frozen=True):
    """How often, and after which ends, a new attempt is made."""

    limit: int = 0
    reasons: tuple[Reason, ...] = (Reason.NODE_FAILED, Reason.PREEMPTED)


class Deadlines(Noun, frozen=True):
    """Our own limits, apart from the manager's walltime."""

    queued: Duration | None = None
    running: Duration | None = None
    unknown: Duration | None = None


class Warn(Noun, frozen=True):
    """A signal to the job, some time before its walltime ends."""

    name: str
    before: Duration


class Adopt(Noun, frozen=True):
    """A job that already runs outside, by the manager's id."""

    id: str


class JobSpec(Noun, frozen=True):
    """What to run and how to treat it."""

    target: TargetRef
    run: Run | None = None
    arguments: tuple[str, ...] = ()
    env: dict[str, str] = {}
    secret_env: dict[str, SecretKey] = {}
    working_directory: str | None = None
    output: str | None = None
    error: str | None = None
    resources: Resources = Resources()
    array: Array | None = None
    files: Files = Files()
    after: tuple[After, ...] = ()
    retry: Retry = Retry()
    deadlines: Deadlines = Deadlines()
    signal: Warn | None = None
    options: dict[str, Any] = {}
    cancel: bool = False
    hold: bool = False
    suspend: bool = False
    adopt: Adopt | None = None
    on_delete: Literal["Cancel", "Detach"] = "Cancel"
    ttl_after_finished: Duration | None = None


CHANGEABLE = frozenset({"cancel", "hold", "suspend", "retry", "deadlines", "on_delete", "ttl_after_finished"})
"""The fields of `JobSpec` that may change once a submit was intended; `resources.walltime` may too."""


def work_of(spec: JobSpec) -> JobSpec:
    """Return what defines the work in *spec*: two jobs with equal works are the same work."""
    resources = msgspec.structs.replace(spec.resources, walltime=None)
    plain = JobSpec(target=spec.target)
    return msgspec.structs.replace(
        spec,
        resources=resources,
        **{name: getattr(plain, name) for name in CHANGEABLE},
    )
