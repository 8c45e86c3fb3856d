"""
What must hold after every simulation, whatever happened in it.

Each rule reads the outside's own ledger, which the code under test never sees.
"""

from __future__ import annotations

from bascule.model import Phase, Reason, parts_of
from tests.simulation.world import Record


def verdicts(record: Record) -> list[str]:
    """Return what is wrong with *record*; empty where all is well."""
    return [
        *_starts_once(record),
        *record.left,
        *_stops(record),
        *_holds(record),
        *_ends(record),
        *_tells_the_truth(record),
        *_leaves_nothing_behind(record),
        *_is_polite(record),
    ]


def _starts_once(record: Record) -> list[str]:
    """At most one job of an attempt ever starts, and no two attempts of a job run at once."""
    wrong = [f"{key} started as {ids}" for key, ids in record.ledger.doubles().items()]
    started: dict[tuple[str, int], set[tuple[str, str]]] = {}
    for entry in record.ledger:
        parts = parts_of(entry.key)
        if entry.what == "start" and parts is not None:
            started.setdefault((parts.name, parts.attempt), set()).add((entry.key, entry.id))
    wrong += [f"attempt {who} started as {sorted(ids)}" for who, ids in started.items() if len(ids) > 1]
    return wrong + [f"{one} and {other} ran at the same time" for one, other in record.ledger.overlaps()]


def _stops(record: Record) -> list[str]:
    """What was cancelled, or deleted, has ended by the time that we say so."""
    wrong = []
    for what, moments in (("Cancelled", record.cancelled_at), ("removed", record.removed)):
        for key, since in moments.items():
            late = [one for one in record.ledger.of(key, "start", "end") if one.at > since + 0.001 and key]
            kept = [one for one in late if one.note != "CANCELLED" or any(e.what == "start" for e in late)]
            wrong += [f"{key} was {what}, and then: {one.what} {one.note}" for one in kept]
    return wrong


def _holds(record: Record) -> list[str]:
    """A release is ours once, and the user's as often as the user asked."""
    wrong = []
    for job in {entry.key for entry in record.ledger}:
        parts = parts_of(job)
        asked = sum(deed.what == "hold" for deed in record.story.deeds if parts and deed.job == parts.name)
        for own_id in {entry.id for entry in record.ledger.of(job, "release")}:
            count = sum(entry.id == own_id for entry in record.ledger.of(job, "release"))
            forgotten = sum(entry.what == "forgotten" for entry in record.ledger)
            if count > 1 + asked + forgotten + record.instances - 1:
                wrong.append(f"{job} was released {count} times as {own_id}")
    return wrong


def _ends(record: Record) -> list[str]:
    """Every job comes to its end, and every cancellation too."""
    return [
        f"{name} is still {job.status.phase} ({job.status.reason}: {job.status.message})"
        for name, job in record.jobs.items()
        if not job.status.phase.is_final
    ]


def _tells_the_truth(record: Record) -> list[str]:
    """What is on record is what happened."""
    wrong = []
    for name, job in record.jobs.items():
        status = job.status
        ends = [one for one in record.ledger.of(status.key, "end") if one.id == status.id] if status.key else []
        happened = ends[-1].note if ends else ""
        if status.phase is Phase.SUCCEEDED and happened != "COMPLETED":
            wrong.append(f"{name} is Succeeded, and its job ended as `{happened}`")
        if status.phase is Phase.FAILED and happened == "COMPLETED" and not _was_purged(record, status.key):
            wrong.append(f"{name} is Failed ({status.reason}), and its job succeeded")
        if status.phase is Phase.CANCELLED and not job.spec.cancel:
            wrong.append(f"{name} is Cancelled, and nobody asked for it")
        if status.phase is Phase.FAILED and status.reason == Reason.LOST and not _may_be_lost(record, status.key):
            wrong.append(f"{name} is Lost, and the manager never forgot it: {status.message}")
    return wrong


def _was_purged(record: Record, key: str) -> bool:
    return not record.story.abilities.history and bool(record.ledger.of(key, "purge"))


def _may_be_lost(record: Record, key: str) -> bool:
    if record.story.abilities.volatile and record.instances > 1:
        return True  # started anew: what it ran before cannot be told from what it never got
    return bool(record.ledger.of(key, "forgotten", "killed")) or _was_purged(record, key)


def _leaves_nothing_behind(record: Record) -> list[str]:
    """No job of ours runs, waits or is held after everything is over."""
    wrong = []
    for job in record.living:
        if parts_of(job.key) is None or job.ended is not None:
            continue
        if job.held and job.key in record.removed:
            continue  # its object is gone: documented in docs/reliability.md
        wrong.append(f"{job.key} is still there as {job.id}: {job.state}{' (held)' if job.held else ''}")
    return wrong


def _is_polite(record: Record) -> list[str]:
    """Watching costs a request per interval, not per job: well under one in five seconds."""
    if record.polls > record.seconds / 4 + 60:
        return [f"{record.polls} polls in {record.seconds:.0f} s"]
    return []
