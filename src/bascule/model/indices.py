"""The indices of an array's tasks, from text and back: ``0-99``, ``1,3,5-9:2``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_WORTH_A_STEP = 5
"""Indices at one distance that are better written as a range with a step than one by one."""


def indices_of(text: str) -> tuple[int, ...]:
    """Return the indices that *text* names, in order; it has been checked by `bascule.spec`."""
    return tuple(sorted({index for span in _spans(text) for index in span}))


def has_index(text: str, index: int) -> bool:
    """Tell whether *index* is one of those that *text* names."""
    return any(index in span for span in _spans(text))


def text_of_indices(indices: Iterable[int]) -> str:
    """Write *indices* as people do: ``0-3,7``, and many at one distance as ``10-90:20``."""
    left = sorted(set(indices))
    parts: list[str] = []
    at = 0
    while at < len(left):
        first = left[at]
        step = left[at + 1] - first if at + 1 < len(left) else 1
        end = at + 1
        while end < len(left) and left[end] - left[end - 1] == step:
            end += 1
        last = left[end - 1]
        if step > 1 and end - at < _WORTH_A_STEP:
            end, last = at + 1, first
        parts.append(str(first) if first == last else f"{first}-{last}" + (f":{step}" if step > 1 else ""))
        at = end
    return ",".join(parts)


def _spans(text: str) -> Iterator[range]:
    for part in text.split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        yield range(int(first), int(last or first) + 1, int(step or 1))
