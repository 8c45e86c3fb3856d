"""
The options that a job, and a target as defaults for its jobs, may set for Slurm.

Only what `spec` has no field of its own for. Names follow the REST API where it has
good ones; `fields` says what each becomes in which version.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from bascule.model import Job, TargetSpec
from bascule.spec.fields import Absolute, Line, Memory, Span, Word, Written
from bascule.spec.options import checked_options

Count = Annotated[int, Field(ge=1, le=10_000_000)]
Words = Annotated[list[Word], Field(max_length=256)]


def _moment(text: Any) -> Any:
    if isinstance(text, datetime):
        return text.isoformat()
    return text


def _zoned(text: str) -> str:
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("is no time; write it as `2026-12-24T18:00:00Z`") from error
    if when.tzinfo is None:
        raise ValueError("has no time zone; write it as `2026-12-24T18:00:00Z`")
    return text


Moment = Annotated[str, BeforeValidator(_moment), Field(max_length=64), AfterValidator(_zoned)]


class JobOptions(Written):
    """What a job may set; a target may set the same as defaults."""

    account: Word | None = None
    partition: Line | None = None
    qos: Word | None = None
    reservation: Word | None = None
    wckey: Word | None = None
    comment: Line | None = None
    constraints: Line | None = None
    prefer: Line | None = None
    licenses: Line | None = None
    dependency: Line | None = None
    nice: Annotated[int, Field(ge=-2_147_483_645, le=2_147_483_645)] | None = None
    priority: Annotated[int, Field(ge=1, le=4_294_967_293)] | None = None
    requeue: bool | None = None
    kill_on_node_fail: bool | None = None
    kill_on_invalid_dependency: bool | None = None
    begin_time: Moment | None = None
    deadline: Moment | None = None
    time_minimum: Span | None = None
    mail_type: Annotated[list[Word], Field(max_length=16)] | None = None
    mail_user: Line | None = None
    open_mode: Literal["append", "truncate"] | None = None
    input: Absolute | None = None
    # Where it may run, and with whom.
    minimum_nodes: Count | None = None
    maximum_nodes: Count | None = None
    node_list: Words | None = None
    exclude_nodes: Words | None = None
    exclusive: bool | Literal["user", "mcs", "topo"] | None = None
    oversubscribe: bool | None = None
    overcommit: bool | None = None
    contiguous: bool | None = None
    spread: bool | None = None
    wait_all_nodes: bool | None = None
    reboot: bool | None = None
    switches: Count | None = None
    switches_wait: Span | None = None
    cluster_constraint: Line | None = None
    batch_features: Line | None = None
    mcs_label: Word | None = None
    network: Line | None = None
    # How much of each node.
    tasks_per_node: Count | None = None
    tasks_per_socket: Count | None = None
    tasks_per_core: Count | None = None
    minimum_cpus_per_node: Count | None = None
    sockets_per_node: Count | None = None
    cores_per_socket: Count | None = None
    threads_per_core: Count | None = None
    core_specification: Count | None = None
    thread_specification: Count | None = None
    memory_per_cpu: Memory | None = None
    memory_per_gpu: Memory | None = None
    temporary_disk: Memory | None = None
    distribution: Line | None = None
    cpu_frequency: Line | None = None
    # Generic resources; `resources.gpusPerNode` is the common field for GPUs.
    gres: Line | None = None
    gpus: Line | None = None
    gpus_per_task: Line | None = None
    gpus_per_socket: Line | None = None
    cpus_per_gpu: Count | None = None
    burst_buffer: Line | None = None
    container: Absolute | None = None
    profile: Annotated[list[Word], Field(max_length=8)] | None = None
    extra: Line | None = None
    login_shell: bool | None = None


class TargetOptions(JobOptions):
    """What a target may set: defaults for its jobs, and two settings for people who know their cluster well."""

    settle_seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """How long a submitted job may stay invisible."""
    min_job_age: Annotated[float, Field(ge=0, le=31_536_000)] = 300.0
    """slurmctld's `MinJobAge`: how long it surely remembers a job that is over."""


_OWN = {"settle_seconds", "min_job_age"}


def options_of_target(spec: TargetSpec, name: str) -> TargetOptions:
    """Return a target's options; raise `Mistake` with all that is wrong."""
    return checked_options(TargetOptions, spec.options, source=f"target `{name}`")


def options_of_job(job: Job) -> JobOptions:
    """Return a job's options; raise `Mistake` with all that is wrong."""
    return checked_options(JobOptions, job.spec.options, source=f"job `{job.name}`")


def settings_of(options: JobOptions) -> dict[str, Any]:
    """Return what *options* sets, by the names that `fields` knows."""
    return {name: value for name, value in options.model_dump(exclude_none=True).items() if name not in _OWN}
