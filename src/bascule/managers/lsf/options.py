"""
The options that a job, and a target as defaults for its jobs, may set for LSF.

Only what `spec` has no field of its own for. `BSUB` says which option of bsub each becomes;
what is not here can be given to bsub as it is, by `extra`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from bascule.errors import Mistake
from bascule.managers.lsf.directives import options_in
from bascule.model import Job, TargetSpec
from bascule.spec.fields import Absolute, Line, Span, Variable, Word, Written
from bascule.spec.options import checked_options

Lines = Annotated[list[Line], Field(max_length=32)]
Form = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+)?$")]


class JobOptions(Written):
    """What a job may set; a target may set the same as defaults."""

    queue: Word | None = None
    partition: Word | None = None
    project: Word | None = None
    account: Word | None = None
    user_group: Word | None = None
    job_group: Line | None = None
    application: Word | None = None
    service_class: Word | None = None
    reservation: Word | None = None
    license_project: Word | None = None
    hosts: Line | None = None
    resource_requirement: Lines | None = None
    dependency: Line | None = None
    exclusive: bool | None = None
    rerunnable: bool | None = None
    requeue_exit_values: Line | None = None
    priority: Annotated[int, Field(ge=1, le=2_147_483_647)] | None = None
    begin_time: Word | None = None
    deadline: Word | None = None
    cpu_limit: Word | None = None
    memory_limit: Word | None = None
    swap_limit: Word | None = None
    process_limit: Annotated[int, Field(ge=1)] | None = None
    thread_limit: Annotated[int, Field(ge=1)] | None = None
    estimated_runtime: Span | None = None
    gpu: Line | None = None
    input: Absolute | None = None
    login_shell: Absolute | None = None
    pre_exec: Line | None = None
    post_exec: Line | None = None
    mail_user: Word | None = None
    mail: Annotated[list[Literal["BEGIN", "END"]], Field(max_length=2)] | None = None
    description: Line | None = None
    extra: Line | None = None
    form: Form | None = None
    form_parameters: Annotated[dict[Variable, Line], Field(max_length=100)] | None = None


class TargetOptions(JobOptions):
    """What a target may set: defaults for its jobs, and settings for people who know their cluster well."""

    settle_seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """How long a submitted job may stay invisible."""
    clean_period: Annotated[float, Field(ge=0, le=31_536_000)] = 3600.0
    """``CLEAN_PERIOD`` of ``lsb.params``: how many seconds LSF surely remembers a job that is over."""


BSUB: dict[str, str] = {
    "queue": "q",
    "partition": "q",  # what `bascule run -p` sets, over what the file says
    "project": "P",
    "account": "P",
    "user_group": "G",
    "job_group": "g",
    "application": "app",
    "service_class": "sla",
    "reservation": "U",
    "license_project": "Lp",
    "hosts": "m",
    "resource_requirement": "R",
    "dependency": "w",
    "exclusive": "x",
    "requeue_exit_values": "Q",
    "priority": "sp",
    "begin_time": "b",
    "deadline": "t",
    "cpu_limit": "c",
    "memory_limit": "M",
    "swap_limit": "v",
    "process_limit": "p",
    "thread_limit": "T",
    "estimated_runtime": "We",
    "gpu": "gpu",
    "input": "i",
    "login_shell": "L",
    "pre_exec": "E",
    "post_exec": "Ep",
    "mail_user": "u",
}


def options_of_target(spec: TargetSpec, name: str) -> TargetOptions:
    """Return a target's options; raise `Mistake` with all that is wrong."""
    options = checked_options(TargetOptions, spec.options, source=f"target `{name}`")
    _check_extra(options, f"target `{name}`")
    return options


def options_of_job(job: Job) -> JobOptions:
    """Return a job's options; raise `Mistake` with all that is wrong."""
    options = checked_options(JobOptions, job.spec.options, source=f"job `{job.name}`")
    _check_extra(options, f"job `{job.name}`")
    return options


def settings_of(options: JobOptions) -> dict[str, Any]:
    """Return what *options* sets, by bsub's names where it has one, and by ours."""
    settings: dict[str, Any] = {}
    if options.extra:
        settings |= options_in(options.extra).settings
    for name, option in BSUB.items():
        value = getattr(options, name)
        if value is not None:
            settings[option] = value
    if options.rerunnable is not None:
        settings["r" if options.rerunnable else "rn"] = True
    for word in options.mail or ():
        settings["B" if word == "BEGIN" else "N"] = True
    for name in ("description", "form", "form_parameters"):
        if (value := getattr(options, name)) is not None:
            settings[name] = value
    return settings


def _check_extra(options: JobOptions, source: str) -> None:
    if options.extra and (problems := options_in(options.extra).problems):
        raise Mistake(
            f"{source}: `options.extra` cannot be had: {'; '.join(problems)}",
            problems=tuple(f"spec.options.extra: {problem}" for problem in problems),
        )
