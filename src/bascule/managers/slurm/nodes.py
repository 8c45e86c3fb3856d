"""Node lists as Slurm writes them: ``n[1-3,7],gpu01``."""

from __future__ import annotations

import re

MOST = 64
"""Nodes that are told by name; of more, the list as Slurm wrote it says the same in less."""
_PART = re.compile(r"([^,\[\]]+)(?:\[([^\]]*)\])?([^,\[\]]*)")


def expanded(text: str) -> tuple[str, ...]:
    """Return the names in *text*; a list that is very long, or of a form of its own, stays as it is."""
    if not text or text == "None assigned":
        return ()
    names: list[str] = []
    for prefix, ranges, suffix in _PART.findall(text):
        if not ranges:
            names.append(prefix + suffix)
            continue
        for part in ranges.split(","):
            first, _, last = part.partition("-")
            if not first.isdecimal() or (last and not last.isdecimal()):
                return (text,)
            numbers = range(int(first), int(last or first) + 1)
            if len(names) + len(numbers) > MOST:
                return (text,)
            names += [f"{prefix}{number:0{len(first)}}{suffix}" for number in numbers]
    return tuple(names) if len(names) <= MOST else (text,)
