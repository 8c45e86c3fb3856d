"""The indices of an array's tasks, from text and back: ``0-99``, ``1,3,5-9:2``."""

from __future__ import annotations

from collections.abc import Iterable


def indices_of(text: str) -> tuple[int, ...]:
    """Return the indices that *text* names, in order; it has been checked by `bascule.spec`."""
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return tuple(sorted(found))


def text_of_indices(indices: Iterable[int]) -> str:
    """Write *indices* as people do: ``0-3,7``."""
    parts: list[str] = []
    first = last = -1
    for index in [*sorted(set(indices)), None]:
        if index is not None and first >= 0 and index == last + 1:
            last = index
            continue
        if first >= 0:
            parts.append(str(first) if first == last else f"{first}-{last}")
        if index is not None:
            first = last = index
    return ",".join(parts)
