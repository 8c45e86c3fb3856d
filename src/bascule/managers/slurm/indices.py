"""Indices of an array, as Slurm writes them: ``0-99``, ``1,3,5-9:2%4``, and bit maps."""

from __future__ import annotations

import re

MOST = 1_000_000
_PART = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def indices_in(text: str) -> tuple[int, ...]:
    """Return the indices of *text* in order; what is no index is left out (Slurm shortens a long list by ``...``)."""
    found: set[int] = set()
    for part in text.partition("%")[0].strip("[]").split(","):
        matched = _PART.fullmatch(part.strip())
        if matched is None:
            continue
        first = int(matched[1])
        last = int(matched[2] or first)
        if last - first > MOST:
            continue
        found.update(range(first, last + 1, max(int(matched[3] or 1), 1)))
    return tuple(sorted(found))


def in_bit_map(text: str) -> tuple[int, ...]:
    """Return the indices of a bit map such as ``0xC``; what is no bit map is read as `indices_in`."""
    if not text.startswith("0x"):
        return indices_in(text)
    try:
        bits = int(text, 16)
    except ValueError:
        return ()
    return tuple(index for index in range(min(bits.bit_length(), MOST)) if bits >> index & 1)
