"""A probe, step by step: name, port and TLS, sign-in, version, accounting. Raises nothing."""

from __future__ import annotations

from bascule.errors import Error, Mistake, Unauthorized, Unavailable
from bascule.managers.slurm.discovery import Discovery, Incompatible
from bascule.managers.slurm.folder import exists
from bascule.managers.slurm.rest import Rest
from bascule.model import Check, Health


async def probe(rest: Rest, discovery: Discovery, root: str | None) -> Health:
    """Try everything that a target needs; the last check is the one that failed, if one did."""
    done: list[Check] = []
    try:
        facts = await discovery.look(done.append)
    except Error as trouble:
        return _failed(trouble, done)
    checks = [Check("address", ok=True, detail=rest.where), *done]
    health = Health(True, True, True, version=facts.version, checks=tuple(checks))
    if root is None:
        return health
    if exists(root, ""):
        return _with(health, Check("files", ok=True, detail=f"`{root}` is there"))
    return _with(
        health,
        Check(
            "files",
            ok=True,
            detail=f"`{root}` is not there on this machine",
            hint="output cannot be read until it is mounted here",
        ),
    )


def _with(health: Health, check: Check) -> Health:
    return Health(
        health.reachable,
        health.authenticated,
        health.compatible,
        version=health.version,
        checks=(*health.checks, check),
    )


def _failed(trouble: Error, done: list[Check]) -> Health:
    message, hint = trouble.message, trouble.hint
    address = Check("address", ok=True)
    match trouble:
        case Unauthorized() | Mistake():
            failed = Check("sign-in", ok=False, detail=message, hint=hint)
            return Health(True, False, False, message=message, hint=hint, checks=(address, *done, failed))
        case Incompatible():
            failed = Check("version", ok=False, detail=message, hint=hint)
            return Health(True, True, False, message=message, hint=hint, checks=(address, *done, failed))
        case Unavailable() if any(check.name == "version" for check in done):
            failed = Check("slurmctld", ok=False, detail=message, hint=hint)
            return Health(False, False, False, message=message, hint=hint, checks=(address, *done, failed))
    failed = Check("address", ok=False, detail=message, hint=hint)
    return Health(False, False, False, message=message, hint=hint, checks=(failed,))
