"""A job's standard conditions, derived from its status: what `kubectl wait` and its kin look at."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from bascule.model import Condition, Job, JobStatus, Phase, Reason

Verdict = tuple[Literal["True", "False", "Unknown"], str]


def with_conditions(job: Job, status: JobStatus, now: datetime) -> JobStatus:
    """Return *status* with its conditions, and the generation it speaks of; unchanged where nothing moved."""
    before = {condition.type: condition for condition in status.conditions}
    after = dict(before)
    for kind, (verdict, reason) in _verdicts(status).items():
        old = before.get(kind)
        message = status.message if verdict == "False" and kind == "Accepted" else ""
        if old is None or old.status != verdict or old.reason != reason or old.message != message:
            moved = now if old is None or old.status != verdict else old.last_transition_time
            after[kind] = Condition(kind, verdict, reason, message, moved, job.generation)
    conditions = tuple(after.values())
    if conditions == status.conditions and status.observed_generation == job.generation:
        return status
    return replace(status, conditions=conditions, observed_generation=job.generation)


def _verdicts(status: JobStatus) -> dict[str, Verdict]:
    """`Complete` is true only for success, `Failed` for any other end."""
    verdicts: dict[str, Verdict] = {}
    if status.reason in (Reason.NOT_ACCEPTED, Reason.TARGET_NOT_FOUND):
        verdicts["Accepted"] = ("False", str(status.reason))
    elif status.intent is not None or status.handle is not None:
        verdicts["Accepted"] = ("True", "Accepted")
    if status.handle is not None:
        verdicts["Submitted"] = ("True", "Submitted")
    elif any(condition.type == "Submitted" for condition in status.conditions):
        verdicts["Submitted"] = ("False", str(status.reason) or str(status.phase))
    if status.phase.is_final:
        won = status.phase is Phase.SUCCEEDED
        verdicts["Complete"] = ("True" if won else "False", str(status.reason) or str(status.phase))
        verdicts["Failed"] = ("False" if won else "True", str(status.reason) or str(status.phase))
    return verdicts
