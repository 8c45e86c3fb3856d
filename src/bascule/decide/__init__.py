"""
Decide what a job needs next.

Pure: no I/O, no clock, no logging. All it knows comes in as arguments and all it
wants goes out as a Plan. ``reconcile`` carries plans out; start there for the order
of events, here for the rules. The rooms follow a job's life: ``waiting`` (before the
intent), ``submitting`` (between the intent and the id), ``living`` and ``stopping``
(while it lives outside), ``ending``.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from bascule.decide.conditions import with_conditions
from bascule.decide.ending import over
from bascule.decide.living import living
from bascule.decide.plan import (
    Action,
    Cancel,
    Done,
    Find,
    Forget,
    Happened,
    Hold,
    Plan,
    Release,
    Seen,
    Signal,
    Submit,
    Trouble,
    Unhold,
    Update,
)
from bascule.decide.submitting import must_hold, submitting
from bascule.decide.waiting import waiting
from bascule.model import ABANDON, Job

__all__ = [
    "Action",
    "Cancel",
    "Done",
    "Find",
    "Forget",
    "Happened",
    "Hold",
    "Plan",
    "Release",
    "Seen",
    "Signal",
    "Submit",
    "Trouble",
    "Unhold",
    "Update",
    "decide",
    "must_hold",
]


def decide(job: Job, seen: Seen, now: datetime) -> Plan:
    """Return the next step for *job*, given what is known besides."""
    plan = _rules(job, seen, now)
    return replace(plan, status=with_conditions(job, plan.status, now))


def _rules(job: Job, seen: Seen, now: datetime) -> Plan:
    status = job.status
    if job.deleted_at is not None and job.annotations.get(ABANDON) == "true":
        return Plan(status=status, remove=True)
    if status.phase.is_final:
        return over(job, seen, now)
    if status.handle is not None:
        return living(job, status.handle, seen, now)
    if status.intent is not None:
        return submitting(job, status.intent, seen, now)
    return waiting(job, seen, now)
