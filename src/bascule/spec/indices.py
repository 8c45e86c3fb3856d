"""The indices of an array: ``0-99``, ``1,3,5-9:2``."""

from __future__ import annotations

import re

from bascule.spec.problems import shortened

MOST_TASKS = 100_000
LARGEST_INDEX = 4_000_000  # Slurm's own bound on MaxArraySize is 4,000,001

_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?", re.ASCII)


def indices_problem(text: str) -> tuple[str, str] | None:
    """Return what is wrong in *text*, and a hint; None where nothing is."""
    if "%" in text:
        return f"`{shortened(text)}` holds a `%`", "give how many run at once as `array.parallelism`"
    ranges = []
    total = 0
    for part in text.split(","):
        found = _PART.fullmatch(part)
        if not found:
            return f"`{shortened(part)}` is no index and no range", "write `0-99`, `1,3,5` or `0-10:2`"
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        if last < first:
            return f"the range `{part}` ends before it begins", f"write `{last}-{first}`"
        if step == 0:
            return f"the range `{part}` has a step of 0", "leave the step out"
        if last > LARGEST_INDEX:
            return f"the index {last:,} is larger than {LARGEST_INDEX:,}", "number the tasks from 0"
        ranges.append(range(first, last + 1, step))
        total += len(ranges[-1])
        if total > MOST_TASKS:
            return f"more than {MOST_TASKS:,} tasks", "use several jobs"
    seen: set[int] = set()
    for span in ranges:
        if twice := seen.intersection(span):
            return f"the index {min(twice)} is given twice", "give each once"
        seen.update(span)
    return None
