"""
The options of ``local``: what a target's owner may set, and what a job may.

A target says how much of the machine is for jobs; unset is all there is.
"""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError

from bascule.errors import Mistake
from bascule.managers.local.records import Capacity
from bascule.model import Duration, Quantity

_GRACE = Duration(seconds=10)
_LONGEST_GRACE = timedelta(hours=1)


def _duration(value: object) -> Duration:
    if not isinstance(value, str):
        raise ValueError("is no duration; write it as `10s`")  # noqa: TRY004 - pydantic reads ValueError
    try:
        span = Duration.parse(value)
    except Mistake as error:
        raise ValueError(f"{error.message}; {error.hint}") from error
    if span > _LONGEST_GRACE:
        raise ValueError("is more than one hour")
    return span


def _bytes(value: object) -> object:
    try:
        return int(Quantity(value)) if isinstance(value, str) else value
    except Mistake as error:
        raise ValueError(f"{error.message}; {error.hint}") from error


Count = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]


class JobOptions(BaseModel):
    """What a job may set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    grace: Annotated[timedelta, PlainValidator(_duration)] = _GRACE
    """How long a job that is being ended has after TERM, before KILL."""


class TargetOptions(JobOptions):
    """What a target may set: how much may be used at once, and the defaults for its jobs."""

    cpus: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = None
    memory: Annotated[int, BeforeValidator(_bytes), Field(strict=True, ge=1)] | None = None
    gpus: Count | None = None
    cgroups: Annotated[bool, Field(strict=True)] = True
    """Whether jobs run in cgroups of their own, where that is possible."""

    @property
    def capacity(self) -> Capacity:
        """How much may be used at once."""
        return Capacity(
            cpus=self.cpus or len(os.sched_getaffinity(0)),
            memory=self.memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            gpus=_gpus() if self.gpus is None else self.gpus,
        )


Model = TypeVar("Model", bound=JobOptions)


def read_options(options: Mapping[str, Any], model: type[Model], path: str = "options") -> Model:
    """Check *options*; raise one `Mistake` with all that is wrong."""
    try:
        return model.model_validate(dict(options))
    except ValidationError as invalid:
        problems = tuple(_problem(error["loc"], error["type"], error["msg"], model, path) for error in invalid.errors())
        raise Mistake(f"`local` cannot use these options: {'; '.join(problems)}", problems=problems) from invalid


def _problem(place: tuple[str | int, ...], kind: str, text: str, model: type[JobOptions], path: str) -> str:
    name = str(place[0]) if place else ""
    if kind != "extra_forbidden":
        return f"{path}.{name}: {text.removeprefix('Value error, ')}"
    if name in TargetOptions.model_fields:
        return f"{path}.{name}: is for the target to say; a job asks for `resources`"
    near = difflib.get_close_matches(name, model.model_fields, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(model.model_fields)}"
    return f"{path}.{name}: `local` has no such option; {hint}"


def _gpus() -> int:
    with contextlib.suppress(OSError):
        return len(list(Path("/proc/driver/nvidia/gpus").iterdir()))
    return 0
