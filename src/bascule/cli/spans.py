"""Spans of time for people; imports nothing, since the quick table needs it."""

from __future__ import annotations


def short(seconds: float) -> str:
    """Write a span in at most two units: ``3.2s``, ``1m20s``, ``2h5m``, ``3d4h``."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    units = (("d", whole // 86400), ("h", whole // 3600 % 24), ("m", whole // 60 % 60), ("s", whole % 60))
    first = next(n for n, (_, count) in enumerate(units) if count)
    return "".join(f"{count}{unit}" for unit, count in units[first : first + 2] if count)


def age(seconds: float) -> str:
    """Write a span in its largest unit, as tables do; seconds are full ones or begun, so that nothing took longer."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(-int(-seconds // 1), 0)}s"
