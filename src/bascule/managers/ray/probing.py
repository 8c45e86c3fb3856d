"""A probe, step by step: name, port and TLS, version, sign-in, the Jobs API. Raises nothing."""

from __future__ import annotations

from bascule.errors import Error, Mistake, Unauthorized
from bascule.managers.ray.head import Head
from bascule.model import Check, Health

NOBODY = "bascule-asks-whether-it-may-ask"
DASHBOARD = "is it the dashboard's port (8265), and not that of Ray itself (6379)?"


async def probe(head: Head) -> Health:
    """Try everything that a target needs; the last check is the one that failed, if one did."""
    address = Check("address", ok=True, detail=head.where)
    try:
        session = await head.session(fresh=True)
    except (Unauthorized, Mistake) as trouble:
        return _not_let_in(trouble, (address,))
    except Error as trouble:
        hint = trouble.hint or DASHBOARD
        failed = Check("address", ok=False, detail=trouble.message, hint=hint)
        return Health(False, False, False, message=trouble.message, hint=hint, checks=(failed,))
    done = (address, Check("version", ok=True, detail=f"Ray {session.version}"))
    try:
        await head.job(NOBODY)
    except (Unauthorized, Mistake) as trouble:
        return _not_let_in(trouble, done)
    except Error as trouble:
        failed = Check("jobs", ok=False, detail=trouble.message, hint=trouble.hint)
        return Health(True, True, False, message=trouble.message, hint=trouble.hint, checks=(*done, failed))
    checks = (*done, Check("sign-in", ok=True), Check("jobs", ok=True, detail=f"session {session.name}"))
    return Health(True, True, True, version=session.version, checks=checks, instance=session.name)


def _not_let_in(trouble: Error, done: tuple[Check, ...]) -> Health:
    failed = Check("sign-in", ok=False, detail=trouble.message, hint=trouble.hint)
    return Health(True, False, False, message=trouble.message, hint=trouble.hint, checks=(*done, failed))
