"""Try whether jobs can be run on this machine, step by step."""

from __future__ import annotations

import platform
import tempfile

from bascule.managers.local import cgroups
from bascule.managers.local.records import Capacity
from bascule.managers.local.slots import amount
from bascule.managers.local.spool import Spool
from bascule.model import Check, Health


def probe(spool: Spool, capacity: Capacity) -> Health:
    """Look at the folder, the supervisor, and what can be contained; changes nothing that stays."""
    checks = [_writable(spool), _supervisor(spool), _contained(), _capacity(capacity)]
    bad = next((check for check in checks if not check.ok), None)
    return Health(
        reachable=bad is None,
        authenticated=bad is None,
        compatible=True,
        version=f"{platform.system()} {platform.release()}",
        message=bad.detail if bad else "",
        hint=bad.hint if bad else "",
        checks=tuple(checks),
    )


def _writable(spool: Spool) -> Check:
    try:
        spool.make()
        with tempfile.TemporaryFile(dir=spool.place) as file:
            file.write(b"!")
    except OSError as trouble:
        detail = f"cannot write to `{spool.place}`: {trouble.strerror}"
        return Check("folder", ok=False, detail=detail, hint="is the disk full, or read-only?")
    return Check("folder", ok=True, detail=str(spool.place))


def _supervisor(spool: Spool) -> Check:
    try:
        lives = spool.wake()
    except OSError as trouble:
        return Check("supervisor", ok=False, detail=f"cannot be reached: {trouble.strerror}")
    return Check("supervisor", ok=True, detail="runs" if lives else "is started when there is a job")


def _contained() -> Check:
    parents = cgroups.find()
    if parents.memory is None and parents.unified is None:
        detail = "no cgroups here: memory is not limited, and its kills are inferred"
        return Check("containment", ok=True, detail=detail, hint="run as root, or in a delegated cgroup")
    limits = "memory is limited" if parents.memory else "memory is not limited"
    return Check("containment", ok=True, detail=f"jobs run in cgroups of their own; {limits}")


def _capacity(capacity: Capacity) -> Check:
    words = f"{capacity.cpus} cpus, {amount(capacity.memory)} of memory, {capacity.gpus} gpus at once"
    return Check("capacity", ok=True, detail=words)
