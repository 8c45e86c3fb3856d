"""
Which behaviours of a contract are owed by whom.

A behaviour that needs an ability is collected only for those who claim it: it is left
out, not skipped, since a skip in CI means that the machine lacks something. What was left
out and why stays visible as ``left_out`` of the class, and a test compares what is claimed
here with what the manager itself says, so that nobody is let off by mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def owed_if(*needs: str) -> Callable[[F], F]:
    """
    Let a behaviour be owed only where all *needs* hold.

    ``history`` and ``key=chosen`` are fields of the abilities, ``world.purge`` is a hook that the world
    must offer or something that it must be; ``!`` in front turns a need round.
    """

    def mark(test: F) -> F:
        test.owed_if = needs  # type: ignore[attr-defined]
        return test

    return mark


def leave_out(contract: type, world_type: type, abilities: object) -> dict[str, str]:
    """Take the behaviours that are not owed out of *contract*; return them, each with the need that does not hold."""
    left_out = {}
    for name in dir(contract):
        needs = getattr(getattr(contract, name), "owed_if", ())
        lacking = [need for need in needs if not _holds(need, world_type, abilities)]
        if lacking:
            setattr(contract, name, None)
            left_out[name] = lacking[0]
    return left_out


def _holds(need: str, world_type: type, abilities: object) -> bool:
    if need.startswith("!"):
        return not _holds(need[1:], world_type, abilities)
    if need.startswith("world."):
        hook = getattr(world_type, need.removeprefix("world."))
        return bool(hook) and not getattr(hook, "is_not_offered", False)
    field, _, wanted = need.partition("=")
    value = getattr(abilities, field)
    return value == wanted if wanted else bool(value)


def not_offered(hook: F) -> F:
    """Mark a hook that a world need not offer."""
    hook.is_not_offered = True  # type: ignore[attr-defined]
    return hook
