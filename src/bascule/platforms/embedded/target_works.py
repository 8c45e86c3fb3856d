"""What is written about targets, as works for the `Writer`; see `job_works`."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bascule.errors import Conflict
from bascule.model import Ref, Target, TargetStatus
from bascule.platforms.embedded.job_works import tell_removed
from bascule.platforms.embedded.rows import TARGET, target_of, text_of, ticks_of, version_of
from bascule.platforms.embedded.writing import Transaction, Work


def put(target: Target, *, uid: str, now: datetime) -> Work[Target]:
    """Create a target, or store its spec, labels and annotations."""
    columns = (text_of(target.labels), text_of(target.annotations), text_of(target.spec))

    def work(transaction: Transaction) -> Target:
        stored = _stored(transaction, target.ref)
        if stored is None:
            version = transaction.next_version()
            transaction.execute(
                "INSERT INTO targets (id, version, namespace, name, uid, generation, created_at,"
                " labels, annotations, spec, status) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)",
                (version, version, *target.ref, uid, ticks_of(now), *columns, text_of(TargetStatus())),
            )
            return msgspec.structs.replace(
                target,
                uid=uid,
                version=str(version),
                generation=1,
                created_at=now,
                deleted_at=None,
                status=TargetStatus(),
            )
        if (stored.spec, stored.labels, stored.annotations) == (target.spec, target.labels, target.annotations):
            return stored
        generation = stored.generation + (stored.spec != target.spec)
        version = transaction.next_version()
        transaction.execute(
            "UPDATE targets SET version = ?, generation = ?, labels = ?, annotations = ?, spec = ?"
            " WHERE namespace = ? AND name = ?",
            (version, generation, *columns, *target.ref),
        )
        return msgspec.structs.replace(
            stored,
            version=str(version),
            generation=generation,
            spec=target.spec,
            labels=target.labels,
            annotations=target.annotations,
        )

    return work


def delete(ref: Ref) -> Work[bool]:
    """Remove a target; tell whether there was one."""

    def work(transaction: Transaction) -> bool:
        if _stored(transaction, ref) is None:
            return False
        transaction.execute("DELETE FROM targets WHERE namespace = ? AND name = ?", ref)
        tell_removed(transaction, "target", ref)
        return True

    return work


def save(target: Target, *, epoch: int) -> Work[Target]:
    """Store a target's status."""
    status = text_of(target.status)

    def work(transaction: Transaction) -> Target:
        transaction.require(epoch)
        stored = _stored(transaction, target.ref)
        if stored is None or version_of(target.version) != version_of(stored.version):
            raise Conflict(f"target `{target.ref}` was changed by somebody else, or is gone", hint="read it again")
        version = transaction.next_version()
        transaction.execute(
            "UPDATE targets SET version = ?, status = ? WHERE namespace = ? AND name = ?",
            (version, status, *target.ref),
        )
        return msgspec.structs.replace(target, version=str(version))

    return work


def _stored(transaction: Transaction, ref: Ref) -> Target | None:
    rows = transaction.execute(f"SELECT {TARGET} FROM targets WHERE namespace = ? AND name = ?", ref).fetchall()
    return target_of(rows[0]) if rows else None
