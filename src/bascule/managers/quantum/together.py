"""Asking for several things at once, as far as connections allow."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from bascule.errors import Error

T = TypeVar("T")


async def together(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Return what all *calls* bring, in order; the first error of ours ends the others and is raised itself."""
    if len(calls) == 1:
        return [await calls[0]]
    try:
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(call, name="ask the quantum service") for call in calls]
    except BaseExceptionGroup as group:
        ours, others = group.split(Error)
        if ours is None or others is not None:
            raise
        failure = _first_of(ours)
    else:
        return [task.result() for task in asked]
    raise failure


def _first_of(group: BaseExceptionGroup[Error]) -> Error:
    inner = group.exceptions[0]
    return _first_of(inner) if isinstance(inner, BaseExceptionGroup) else inner
