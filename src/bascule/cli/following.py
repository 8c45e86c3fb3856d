"""
One job, followed to its end: its states and its output, as they come, for a display.

Output is read per attempt, from the byte where it stopped; of an array, that of all its
tasks (``tasks``). A manager that does not answer for a while delays it, and loses nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Protocol

from bascule.bridge import BridgeJob
from bascule.cli.faults import innermost
from bascule.cli.tasks import Offsets, TaskOutput, followed
from bascule.errors import Error, Mistake, Refused, Unavailable
from bascule.model import Job, Phase, Reason
from bascule.ports import Stream

LOOK_AGAIN = 1.0

NO_OFFSETS: Offsets = {}

NOT_ACCEPTED = (Reason.NOT_ACCEPTED, Reason.TARGET_NOT_FOUND)


class Display(Protocol):
    """Where a job that is followed is shown."""

    def show(self, job: Job) -> None:
        """Show where *job* stands."""

    async def take(self, job: BridgeJob, stream: Stream, data: bytes) -> None:
        """Show a piece of its output."""

    def note(self, text: str) -> None:
        """Say something beside it."""


async def follow(job: BridgeJob, display: Display) -> Job:
    """Follow *job* until it is over and its output is shown; return it. Raises `Refused` where it cannot go on."""
    async with asyncio.TaskGroup() as tasks:
        streams: tuple[Stream, ...] = ("output",) if _writes_one_file(await job.get()) else ("output", "error")
        tasks.create_task(_read_what_can_be(job, streams, display), name=f"output of {job.name}")
        ended = tasks.create_task(_watch(job, display), name=f"state of {job.name}")
    return ended.result()


async def _read_what_can_be(job: BridgeJob, streams: tuple[Stream, ...], display: Display) -> None:
    """Show the output of *job*; where it cannot be had, say so once: the job goes on all the same."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for stream in streams:
                tasks.create_task(read_all(job, stream, display), name=f"{stream} of {job.name}")
    except* (Mistake, Refused) as troubles:
        trouble = innermost(troubles)
        why = f"{trouble}; {trouble.hint}" if isinstance(trouble, Error) and trouble.hint else str(trouble)
        display.note(f"job/{job.name}: its output is not shown: {why}")


def _writes_one_file(job: Job) -> bool:
    """Tell whether errors go where the output goes, so that reading both would show all twice."""
    return job.spec.output is not None and job.spec.output == job.spec.error


async def _watch(job: BridgeJob, display: Display) -> Job:
    last: Job | None = None
    async with aclosing(job.watch()) as states:  # type: ignore[type-var]
        async for last in states:
            display.show(last)
            if last.status.reason in NOT_ACCEPTED:
                raise not_accepted(last)
    if last is None or not last.status.phase.is_final:
        raise Mistake(f"job `{job.name}` was deleted meanwhile", hint="`bascule get jobs` lists what is there")
    return last


def not_accepted(job: Job) -> Refused:
    """Return what to raise for a job that cannot go on until somebody changes something."""
    return Refused(
        f"job `{job.name}` is not accepted: {job.status.message}",
        hint=f"change it or its target; `bascule delete job {job.name}` drops it",
    )


async def read_all(
    job: BridgeJob, stream: Stream, display: Display, *, index: int | None = None, offsets: Offsets = NO_OFFSETS
) -> None:
    """Show all that *job*, or its task *index*, writes, attempt by attempt; *offsets* are for the first of them."""
    attempt = await _first_attempt(job)
    while attempt is not None:
        await read_attempt(job, stream, attempt, display, index=index, offsets=offsets)
        status = await job.status()
        if status.attempt <= attempt and status.phase.is_final:
            return
        attempt, offsets = max(attempt + 1, status.attempt), NO_OFFSETS


async def read_attempt(
    job: BridgeJob,
    stream: Stream,
    attempt: int,
    display: Display,
    *,
    index: int | None = None,
    offsets: Offsets = NO_OFFSETS,
) -> None:
    """Show what one attempt writes, until it is over; of each task from its offset on, of a plain job from that of None."""
    silent = False
    state = await job.get()
    offset = offsets.get(index, 0)
    tasks = TaskOutput(job, state, stream, attempt, offsets) if state.is_array and index is None else None
    while True:
        try:
            pieces = (
                followed(job, tasks, attempt)
                if tasks
                else job.logs(follow=True, stream=stream, attempt=attempt, offset=offset, index=index)
            )
            async with aclosing(pieces):  # type: ignore[type-var]
                async for piece in pieces:
                    silent = False
                    offset += len(piece)
                    await display.take(job, stream, piece)
            return
        except Unavailable as trouble:
            if (await job.status()).phase.is_final and silent:
                display.note(f"job/{job.name}: its {stream} cannot be read now: {trouble.message}")
                return
            silent = True
            await asyncio.sleep(LOOK_AGAIN)


async def _first_attempt(job: BridgeJob) -> int | None:
    """Wait until there is an attempt to read from; None where there will be none."""
    async with aclosing(job.watch()) as states:  # type: ignore[type-var]
        async for seen in states:
            if seen.status.attempt and seen.status.phase is not Phase.PENDING:
                return seen.status.attempt
    return None
