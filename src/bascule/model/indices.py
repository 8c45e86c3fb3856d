"""The indices of an array's tasks, from text and back: ``0-99``, ``1,3,5-9:2``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def indices_of(text: str) -> tuple[int, ...]:
    """Return the indices that *text* names, in order; it has been checked by `bascule.spec`."""
    return tuple(sorted({index for span in _spans(text) for index in span}))


def has_index(text: str, index: int) -> bool:
    """Tell whether *index* is one of those that *text* names."""
    return any(index in span for span in _spans(text))


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


def _spans(text: str) -> Iterator[range]:
    for part in text.split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        yield range(int(first), int(last or first) + 1, int(step or 1))
