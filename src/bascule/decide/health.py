"""What a probe of a target says about it, as the target's conditions."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from bascule.model import Condition, Health, TargetStatus


def conditions_of(health: Health, before: TargetStatus, generation: int, now: datetime) -> TargetStatus:
    """Return the target's status after a probe; *before* itself where nothing moved."""
    silent = not health.reachable
    verdicts: dict[str, bool | None] = {
        "Reachable": health.reachable,
        "Authenticated": None if silent else health.authenticated,
        "Compatible": None if silent or not health.authenticated else health.compatible,
        "Ready": health.reachable and health.authenticated and health.compatible,
    }
    old = {condition.type: condition for condition in before.conditions}
    conditions = []
    for kind, verdict in verdicts.items():
        word: Literal["True", "False", "Unknown"] = "Unknown" if verdict is None else "True" if verdict else "False"
        message = "" if verdict else health.message
        previous = old.get(kind)
        if previous is not None and previous.status == word and previous.message == message:
            conditions.append(previous)
            continue
        moved = now if previous is None or previous.status != word else previous.last_transition_time
        reason = {"True": "Ok", "False": "ProbeFailed", "Unknown": "NotReached"}[word]
        conditions.append(Condition(kind, word, reason, message, moved, generation))
    version = health.version or before.version
    after = replace(before, version=version, conditions=tuple(conditions), observed_generation=generation)
    return before if after == before else replace(after, changed_at=now)
