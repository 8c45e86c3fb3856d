"""Jobs at the points of their life that the tests of `decide` start from."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from bascule.decide import Seen
from bascule.model import (
    Handle,
    Intent,
    Job,
    JobSpec,
    JobStatus,
    ManagerView,
    Phase,
    Run,
    TargetRef,
)
from bascule.ports import Abilities

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SLURM_LIKE = Abilities(
    key="searched", holds=True, history=True, hold=True, signal=True, update_walltime=True, settles=60
)
RAY_LIKE = Abilities(key="chosen", walltime=False, settles=5)
KEY = "train-abc234-eeeeeeee-1"
FRESH = JobStatus()


def seen(abilities=SLURM_LIKE, **facts):
    """What is known besides the job, where everything is well."""
    facts.setdefault("held_submit", abilities.holds)
    facts.setdefault("reachable", True)
    return Seen(installation="abc234", abilities=abilities, **facts)


def job(status=FRESH, **fields):
    """A job that asks for *fields* and stands at *status*."""
    own = {name: fields.pop(name) for name in ("deleted_at", "annotations") if name in fields}
    spec = JobSpec(target=TargetRef("hpc"), run=Run(script="#!/bin/sh\n"), **fields)
    return Job("default", "train", "uid-1", spec, status, version="1", created_at=ago(hours=1), **own)


def intended(*, tries=1, asked_at=None, **status):
    """The status of a job whose submit was intended, and of whose id nothing is known."""
    asked_at = asked_at or ago(seconds=1)
    return JobStatus(
        phase=Phase.SUBMITTING,
        attempt=1,
        key=KEY,
        intent=Intent(at=asked_at, asked_at=asked_at, held=True, tries=tries),
        **status,
    )


def outside(phase=Phase.RUNNING, *, released=True, asked_at=None, **status):
    """The status of a job that lives outside as `4711`."""
    asked_at = asked_at or ago(minutes=30)
    return replace(
        intended(asked_at=asked_at),
        phase=phase,
        id="4711",
        handle=Handle("4711", KEY),
        submitted_at=asked_at,
        started_at=ago(minutes=10) if phase is Phase.RUNNING else None,
        released_at=asked_at if released else None,
        manager=ManagerView(state=str(phase).upper()),
        **status,
    )


def ago(**span):
    """The moment that long before `NOW`."""
    return NOW - timedelta(**span)
