"""
Remove jobs that nobody recorded.

A process that was frozen between its intent and its submit may wake up after its
successor took over, and leave a held job behind: it can never run, since only a
recorded id is released. Only jobs are removed whose key is ours, whose object is in
this store, and of whose attempt another id, or the end, is on record: a manager that came
back from before a job ran may hold it again, and must never let it run. One that is not
held goes only where its object ended without ever knowing it: a submit that arrived
after all proof of its absence.
"""

from __future__ import annotations

from bascule.connections import Connection
from bascule.errors import Error
from bascule.journal import Logger
from bascule.model import Job, Stray, belongs_to, parts_of
from bascule.ports import Platform

log = Logger(__name__)


async def sweep(connection: Connection, platform: Platform) -> int:
    """Remove the orphans at one connection; return how many. A silent manager is asked another time."""
    manager = connection.manager
    if manager.abilities.key == "none" or connection.reachable is False:
        return 0
    removed = 0
    try:
        for stray in await manager.sweep(platform.installation):
            if stray.over or not belongs_to(stray.key, platform.installation):
                continue
            job = await platform.bearer(stray.key)
            if job is not None and is_orphan(stray, job):
                await manager.cancel(stray.handle)
                removed += 1
                log.info("sweeper.removed", key=stray.key, id=stray.handle.id)
    except Error as trouble:
        log.warning("sweeper.stopped", target=connection.target.name, error=trouble.message)
    return removed


def is_orphan(stray: Stray, job: Job) -> bool:
    """Tell whether *stray* is not the outside job of *job*'s attempt, nor ever can be."""
    status = job.status
    parts = parts_of(stray.key)
    if parts is None or status.is_doubtful:
        return False
    if status.key == stray.key:
        if status.handle is not None:
            return stray.held and (status.handle.id != stray.handle.id or status.phase.is_final)
        return status.phase.is_final
    if not stray.held:
        return False
    return parts.attempt < status.attempt or (parts.attempt == status.attempt and status.phase.is_final)
