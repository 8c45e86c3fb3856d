"""A probe, step by step: address, sign-in, version, backends, and the instance's time. Raises nothing."""

from __future__ import annotations

from bascule.errors import Error, Mistake, Unauthorized
from bascule.managers.quantum.rest import Answer, Rest
from bascule.managers.quantum.wire import Backends, InstanceUsage
from bascule.model import Check, Health


async def probe(rest: Rest, api_version: str) -> Health:
    """Try everything that a target needs; the last check is the one that failed, if one did."""
    version = f"Qiskit Runtime REST {api_version}"
    try:
        listed = await rest.get("/backends")
        if listed.status >= 400:
            return _incompatible(listed, rest)
        backends = listed.read(Backends).all
        usage = await rest.get("/instances/usage")
    except (Unauthorized, Mistake) as trouble:
        failed = Check("sign-in", ok=False, detail=trouble.message, hint=trouble.hint)
        return Health(
            True, False, False, message=trouble.message, hint=trouble.hint, checks=(Check("address", ok=True), failed)
        )
    except Error as trouble:
        failed = Check("address", ok=False, detail=trouble.message, hint=trouble.hint)
        return Health(False, False, False, message=trouble.message, hint=trouble.hint, checks=(failed,))
    names = ", ".join(backend.name for backend in backends[:20] if backend.is_online)
    checks = [
        Check("address", ok=True, detail=rest.where),
        Check("sign-in", ok=True, detail="the API key is good for the instance"),
        Check("version", ok=True, detail=version),
        Check("backends", ok=True, detail=names or "none is online", hint="" if names else "jobs wait until one is"),
        _time_left(usage),
    ]
    return Health(True, True, True, version=version, checks=tuple(checks))


def _time_left(answer: Answer) -> Check:
    try:
        usage = answer.read(InstanceUsage) if answer.status == 200 else InstanceUsage()
    except Error:
        usage = InstanceUsage()
    used, limit = usage.usage_consumed_seconds, usage.usage_limit_seconds
    detail = "not told" if used is None else f"{used:g} s used" + (f" of {limit:g} s" if limit is not None else "")
    hint = "no job is taken until its limit is raised, or its next period begins" if usage.usage_limit_reached else ""
    return Check("time", ok=True, detail=detail, hint=hint)


def _incompatible(answer: Answer, rest: Rest) -> Health:
    message = f"{rest.where} does not know what is asked of it ({answer.status}): {answer.words}"
    hint = "does `url` end with `/api/v1`? Does the service know the version in `options.apiVersion`?"
    checks = (
        Check("address", ok=True, detail=rest.where),
        Check("sign-in", ok=True),
        Check("version", ok=False, detail=message, hint=hint),
    )
    return Health(True, True, False, message=message, hint=hint, checks=checks)
