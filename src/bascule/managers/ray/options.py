"""The options that a job, and a target as defaults for its jobs, may set for Ray."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from bascule.model import Job, TargetSpec
from bascule.spec.fields import Free, Line, Word, Written
from bascule.spec.options import checked_options

# Ray takes any other in silence, and drops it.
RUNTIME_ENV = frozenset(
    {
        *("pip", "uv", "conda", "py_modules", "py_executable", "java_jars", "working_dir", "excludes", "container"),
        *("image_uri", "config", "worker_process_setup_hook", "_nsight", "_rocprof_sys"),
    }
)
Amount = Annotated[float, Field(gt=0, le=1_000_000, strict=False)]
Amounts = Annotated[dict[Word, Amount], Field(max_length=64)]
Texts = Annotated[dict[Word, Line], Field(max_length=64)]


def _known(wanted: dict[str, Any]) -> dict[str, Any]:
    if "env_vars" in wanted:
        raise ValueError("holds `env_vars`; write them as the job's `env`")
    unknown = sorted(wanted.keys() - RUNTIME_ENV)
    if unknown:
        raise ValueError(f"holds `{unknown[0]}`, which Ray does not know; it knows {', '.join(sorted(RUNTIME_ENV))}")
    return wanted


class JobOptions(Written):
    """What a job may set; a target may set the same as defaults."""

    cpus: Amount | None = None
    """Of a processor, also less than one; instead of `resources.cpusPerTask`."""
    gpus: Amount | None = None
    resources: Amounts | None = None
    """Resources that this cluster has names of its own for."""
    label_selector: Texts | None = None
    runtime_env: Annotated[Free, AfterValidator(_known)] | None = None
    metadata: Texts | None = None


class TargetOptions(JobOptions):
    """What a target may set: defaults for its jobs, and a setting for people who know their head well."""

    settle_seconds: Annotated[float, Field(ge=0, le=3600, strict=False)] = 10.0
    """How long a submit that got no answer may take to arrive."""


def options_of_target(spec: TargetSpec, name: str) -> TargetOptions:
    """Return a target's options; raise `Mistake` with all that is wrong."""
    return checked_options(TargetOptions, spec.options, source=f"target `{name}`")


def options_of_job(job: Job) -> JobOptions:
    """Return a job's options; raise `Mistake` with all that is wrong."""
    return checked_options(JobOptions, job.spec.options, source=f"job `{job.name}`")


def merged(defaults: JobOptions, own: JobOptions) -> JobOptions:
    """Return *own* options, with those of the target where a job has none."""
    settings = {name: getattr(own, name) or getattr(defaults, name) for name in JobOptions.model_fields}
    return JobOptions.model_construct(**settings)
