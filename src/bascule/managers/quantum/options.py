"""
The options that a job, and a target as defaults for its jobs, may set for a quantum service.

What the program itself is given stands in ``run.program.params``, in the service's own words.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from bascule.model import Duration, Job, TargetSpec
from bascule.spec.checks import fault
from bascule.spec.fields import Label, Line, Span, Word, Written, check_url
from bascule.spec.options import checked_options

LEAST_BUSY = "least-busy"
IAM = "https://iam.cloud.ibm.com"
API_VERSION = "2026-04-15"
LONGEST_EXECUTION = 10_800
LONGEST_SESSION = 28_800


def _seconds_within(most: int) -> AfterValidator:
    def check(text: str) -> str:
        if not 1 <= Duration.parse(text).total_seconds() <= most:
            raise fault(f"is not from 1 s to {most // 3600} h")
        return text

    return AfterValidator(check)


def _crn(text: str) -> str:
    parts = text.split(":")
    if len(parts) < 8 or parts[0] != "crn" or parts[4] != "quantum-computing":
        raise fault(
            "is no CRN of a quantum instance",
            "copy it from the instance's page; it begins with `crn:v1:bluemix:public:`",
        )
    return text


def _iam(text: str) -> str:
    return check_url(text, ("https", "http"))


class SessionOption(Written):
    """A session or batch that the job runs in: one of its own, or one that is shared by name."""

    name: Label | None = None
    mode: Literal["dedicated", "batch"] = "dedicated"
    max_time: Annotated[Span, _seconds_within(LONGEST_SESSION)] | None = None
    last: bool = False
    """Whether the session is closed when this job is over; one without a name always is."""


class TranspileOption(Written):
    """How circuits are made fit for their backend."""

    level: Annotated[int, Field(ge=0, le=3)] = 1
    seed: Annotated[int, Field(ge=0, le=2**32)] | None = None


class JobOptions(Written):
    """What a job may set; a target may set the same as defaults."""

    backend: Word | None = None
    shots: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    precision: Annotated[float, Field(gt=0, le=1)] | None = None
    max_execution_time: Annotated[Span, _seconds_within(LONGEST_EXECUTION)] | None = None
    session: SessionOption | None = None
    transpile: bool | TranspileOption | None = None
    tags: Annotated[list[Word], Field(max_length=8)] | None = None
    private: bool | None = None
    log_level: Literal["CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG"] | None = None
    calibration_id: Word | None = None
    runtime: Word | None = None


class TargetOptions(JobOptions):
    """What a target may set: where and as whom, how often, and defaults for its jobs."""

    instance: Annotated[Line, AfterValidator(_crn)]
    iam: Annotated[str, Field(max_length=2048), AfterValidator(_iam)] = IAM
    """Where the API key is exchanged for tokens."""
    api_version: Annotated[str, Field(pattern=r"^20[0-9]{2}-[0-9]{2}-[0-9]{2}$")] = API_VERSION
    submits_per_minute: Annotated[int, Field(ge=0, le=100_000)] = 5
    """How many submits the service takes in a minute; 0: as many as come."""
    settle_seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """How long a submitted job may stay invisible."""


def options_of_target(spec: TargetSpec, name: str) -> TargetOptions:
    """Return a target's options; raise `Mistake` with all that is wrong."""
    return checked_options(TargetOptions, spec.options, source=f"target `{name}`")


def options_of_job(job: Job, target: JobOptions) -> JobOptions:
    """Return a job's options over its target's defaults; raise `Mistake` with all that is wrong."""
    own = checked_options(JobOptions, job.spec.options, source=f"job `{job.name}`")
    given = {name: getattr(own, name) for name in own.model_fields_set}
    defaults = {name: getattr(target, name) for name in JobOptions.model_fields}
    return JobOptions.model_construct(**{**defaults, **given})


def seconds(span: str | None) -> int | None:
    """Return *span* in whole seconds, rounded up."""
    return None if span is None else -int(-Duration.parse(span).total_seconds() // 1)


def transpile_of(options: JobOptions) -> TranspileOption | None:
    """Return how circuits are to be transpiled; None: not at all."""
    wanted = options.transpile
    if wanted is True:
        return TranspileOption()
    return wanted or None
