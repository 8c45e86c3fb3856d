"""A probe, step by step: name, port and TLS, sign-in, version, and whether jobs may be listed. Raises nothing."""

from __future__ import annotations

from bascule.errors import Error, Mistake, Unauthorized
from bascule.managers.lsf.center import Center
from bascule.managers.lsf.rest import NotShown
from bascule.model import Check, Health


async def probe(center: Center) -> Health:
    """Try everything that a target needs; the last check is the one that failed, if one did."""
    address = Check("address", ok=True, detail=center.where)
    version = ""
    try:
        version = await center.version()
        listing = await center.named("bascule-probe")
    except NotShown as trouble:
        return _failed("jobs", trouble, (address, _signed_in(center)), reachable=True, authenticated=True)
    except (Unauthorized, Mistake) as trouble:
        return _failed("sign-in", trouble, (address,), reachable=True, authenticated=False)
    except Error as trouble:
        done = (address, _signed_in(center)) if version else ()
        return _failed("jobs" if version else "address", trouble, done, reachable=False, authenticated=False)
    checks = (
        address,
        _signed_in(center),
        Check("version", ok=True, detail=version),
        Check("jobs", ok=True, detail=f"may be listed ({len(listing.records)} of the name that was tried)"),
    )
    return Health(True, True, True, version=f"Application Center {version}", checks=checks)


def _signed_in(center: Center) -> Check:
    return Check("sign-in", ok=True, detail=f"as `{center.user}`")


def _failed(name: str, trouble: Error, done: tuple[Check, ...], *, reachable: bool, authenticated: bool) -> Health:
    failed = Check(name, ok=False, detail=trouble.message, hint=trouble.hint)
    return Health(reachable, authenticated, False, message=trouble.message, hint=trouble.hint, checks=(*done, failed))
