"""
Many jobs watched at once: one look at what has changed, whatever their number.

Beside it, whether somebody moves them: this process, or another that may be stopped or hang.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple

from bascule.bridge import Bridge, BridgeJob
from bascule.model import Job

LOOK_AGAIN = 1.0
UNSEEN = 5.0
"""Seconds after which a driver that has not taken up a wish is said to hang."""


class Seen(NamedTuple):
    """A job as it is now; *now* is None where it is gone."""

    job: BridgeJob
    now: Job | None


async def states_of(bridge: Bridge, jobs: Sequence[BridgeJob]) -> AsyncIterator[Seen]:
    """Give each of *jobs* as it is now, then whichever has changed; it never ends by itself."""
    by_ref = {job.ref: job for job in jobs}
    changes = bridge.store.watch()
    async with aclosing(changes):  # type: ignore[type-var]
        for job in jobs:
            yield Seen(job, await bridge.store.get(job.ref))
        async for change in changes:
            if change.kind == "job" and change.ref in by_ref:
                yield Seen(by_ref[change.ref], await bridge.store.get(change.ref))


async def until_each(
    bridge: Bridge, jobs: Sequence[BridgeJob], is_done: Callable[[Seen], bool], note: Callable[[str], None]
) -> None:
    """Wait until *is_done* was true of each of *jobs* once; *note* is told who holds it up."""
    left = {job.ref for job in jobs}
    if not left:
        return
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(watch_driver(bridge, jobs, note), name="watch the driver")
        async with aclosing(states_of(bridge, jobs)) as states:  # type: ignore[type-var]
            async for seen in states:
                if seen.job.ref in left and is_done(seen):
                    left.discard(seen.job.ref)
                    if not left:
                        break
        watching.cancel()


async def watch_driver(bridge: Bridge, jobs: Sequence[BridgeJob], note: Callable[[str], None]) -> None:
    """
    Until cancelled: say who drives, where that is another process and it does not move.

    Raises what made this process stop driving, if anything did.
    """
    told = ""
    since: dict[str, float] = {}
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(LOOK_AGAIN)
        if jobs:
            await _check_driver(jobs[0])
        other = None if bridge.drives else bridge.store.driver()
        words = ""
        if other is not None and other.is_stopped:
            words = f"{other} drives this home, so nothing moves; `kill -CONT {other.pid}` lets it go on"
        elif other is not None and await _is_unseen(bridge, jobs, since, loop.time()):
            words = (
                f"{other} does not take up what was asked; is it up? `kubectl get leases -A` tells who leads"
                if not other.pid
                else f"{other} drives this home and does not take up what was asked; "
                f"`kill {other.pid}` ends it, and this process goes on in its place"
            )
        if words and words != told:
            note(words)
        told = words


async def _check_driver(job: BridgeJob) -> None:
    """Raise what made this process stop driving; whoever watches a job is told."""
    async with aclosing(job.watch()) as states:  # type: ignore[type-var]
        async for _ in states:
            return


async def _is_unseen(bridge: Bridge, jobs: Sequence[BridgeJob], since: dict[str, float], now: float) -> bool:
    """Tell whether a wish has been waiting for the driver for too long."""
    for job in jobs:
        seen = await bridge.store.get(job.ref)
        if seen is None or (seen.status.observed_generation >= seen.generation and not seen.deleted_at):
            since.pop(job.name, None)
        elif now - since.setdefault(job.name, now) >= UNSEEN:
            return True
    return False
