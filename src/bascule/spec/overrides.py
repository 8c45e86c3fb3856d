"""What the command line says over what the file says."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import msgspec

from bascule.errors import Mistake
from bascule.model import Duration, Job, Run
from bascule.spec.loading import validated
from bascule.spec.scripts import wrapped

_SLURM = (
    ("minutes", r"(?P<minutes>\d{1,8})"),
    ("minutes:seconds", r"(?P<minutes>\d{1,8}):(?P<seconds>\d{1,2})"),
    ("hours:minutes:seconds", r"(?P<hours>\d{1,6}):(?P<minutes>\d{1,2}):(?P<seconds>\d{1,2})"),
    ("days-hours", r"(?P<days>\d{1,5})-(?P<hours>\d{1,2})"),
    ("days-hours:minutes", r"(?P<days>\d{1,5})-(?P<hours>\d{1,2}):(?P<minutes>\d{1,2})"),
    (
        "days-hours:minutes:seconds",
        r"(?P<days>\d{1,5})-(?P<hours>\d{1,2}):(?P<minutes>\d{1,2}):(?P<seconds>\d{1,2})",
    ),
)


def with_overrides(
    job: Job,
    *,
    target: str | None = None,
    name: str | None = None,
    partition: str | None = None,
    account: str | None = None,
    nodes: int | None = None,
    time: str | None = None,
    wrap: str | None = None,
) -> Job:
    """Return *job* with what the command line asked for; what is None stays as it is."""
    spec = job.spec
    options = {**spec.options, **_given(partition=partition, account=account)}
    resources = msgspec.structs.replace(spec.resources, **_given(nodes=nodes, walltime=_walltime(time)))
    changes: dict[str, Any] = {"options": options, "resources": resources}
    if target is not None:
        changes["target"] = msgspec.structs.replace(spec.target, name=target, namespace=None)
    if wrap is not None:
        changes |= {"run": Run(script=wrapped(wrap)), "arguments": ()}
    changed = msgspec.structs.replace(
        job, name=job.name if name is None else name, spec=msgspec.structs.replace(spec, **changes)
    )
    validated(changed, source="command line")
    return changed


def parse_time(text: str) -> Duration:
    """Read a span as we write it (``1h30m``) or as Slurm does (``90``, ``1:30:00``, ``1-12``)."""
    for _, form in _SLURM:
        if found := re.fullmatch(form, text, re.ASCII):
            span = timedelta(**{unit: int(count) for unit, count in found.groupdict().items()})
            break
    else:
        try:
            span = Duration.parse(text) if text.isascii() and len(text) <= 32 else timedelta()
        except Mistake as error:
            raise Mistake(
                f"`--time {text[:32]}` is no time", hint="write it as `90m`, `1h30m`, `1:30:00` or `1-12`"
            ) from error
    if not span:
        raise Mistake(f"`--time {text[:32]}` is no time to run in", hint="leave it out for the manager's default")
    if span > timedelta(days=3650):
        raise Mistake(f"`--time {text[:32]}` is longer than ten years", hint="leave it out for the manager's default")
    return Duration.of(span)


def _walltime(text: str | None) -> Duration | None:
    return None if text is None else parse_time(text)


def _given(**values: object) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
