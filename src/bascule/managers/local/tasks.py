"""
One task of an array: what it is called, what it is ordered to do, where it writes.

To the supervisor a task is a job like any other. Its key is the array's with the index
behind it, its folder lies in the array's, and its order is made from the array's.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from bascule.managers.local.processes import MARKER
from bascule.managers.local.records import Order, Outline
from bascule.model import indices_of

INDEX = "BASCULE_TASK_INDEX"
COUNT = "BASCULE_TASK_COUNT"
_BETWEEN = "_"  # no key of a job has one
_PATTERN = re.compile(r"%([0-9]{0,2})(.?)")


class Name(NamedTuple):
    """A key, taken apart: whose it is, and of which task."""

    job: str
    task: int | None


def task_key(key: str, index: int) -> str:
    """Return the key of a task."""
    return f"{key}{_BETWEEN}{index}"


def parted(key: str) -> Name:
    """Take a key apart."""
    job, between, index = key.partition(_BETWEEN)
    return Name(job, int(index)) if between and index.isdecimal() else Name(key, None)


def outline_of_task(outline: Outline, index: int) -> Outline:
    """Return what the supervisor keeps in mind of a task, from that of its array."""
    return replace(
        outline,
        key=task_key(outline.key, index),
        output=filled(outline.output, name=outline.name, key=outline.key, index=index),
        error=filled(outline.error, name=outline.name, key=outline.key, index=index),
        indices="",
        parallelism=0,
    )


def order_of_task(order: Order, index: int, folder: Path) -> Order:
    """Return the order of a task, whose own folder is *folder*, from that of its array."""
    env = {MARKER: str(folder), INDEX: str(index), COUNT: str(len(indices_of(order.indices)))}
    outline = outline_of_task(order, index)
    return replace(
        order,
        key=outline.key,
        output=outline.output,
        error=outline.error,
        env=order.env | {os.fsencode(name): os.fsencode(value) for name, value in env.items()},
        indices="",
        parallelism=0,
    )


def bad_pattern(path: str, *, is_array: bool) -> str:
    """Return what in the name of a file means nothing; empty where all does."""
    known = {"x", "j", "a", "A", "%"} if is_array else {"x", "j", "%"}
    return next((at[0] for at in _PATTERN.finditer(path) if at[2] not in known or (at[1] and at[2] != "a")), "")


def is_of_each(path: str) -> bool:
    """Tell whether each task of an array has a file of its own by this name."""
    return any(found[2] in {"a", "j"} for found in _PATTERN.finditer(path)) or path.startswith("/dev/")


def filled(path: str, *, name: str, key: str, index: int | None = None) -> str:
    """Return the name of a file with all that stands for something replaced."""
    values = {"x": name, "j": key if index is None else task_key(key, index), "A": key, "%": "%"}

    def value(found: re.Match[str]) -> str:
        return str(index).rjust(int(found[1] or 0), "0") if found[2] == "a" else values[found[2]]

    return _PATTERN.sub(value, path)
