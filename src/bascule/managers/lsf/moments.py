"""
Times, in the forms in which Application Center writes them.

Which it uses depends on its version and on the server's language. A time whose zone cannot be
told is no time: shown an hour wrong it would mislead.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_PLAIN = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.\d+)?\s*(Z|GMT|UTC|[+-]\d\d:?\d\d)?")
_JAVA = re.compile(
    r"(?:\w{3} )?(\w{3}) +(\d{1,2}),? (?:(\d{4}) )?(\d\d):(\d\d):(\d\d)(?: (GMT|UTC|Z))?(?: (\d{4}))?(?: (GMT|UTC|Z))?"
)
LATEST = 1 << 40


def moment_in(text: str, *, is_gmt: bool = False) -> datetime | None:
    """Return the time that *text* says; *is_gmt*: its field says in which zone it is."""
    text = text.strip()
    if text.isdecimal():
        return of_seconds(int(text) / 1000 if len(text) > 11 else int(text))
    try:
        if found := _PLAIN.fullmatch(text):
            return _plain(found, is_gmt=is_gmt)
        if found := _JAVA.fullmatch(text):
            return _java(found, is_gmt=is_gmt)
    except ValueError:
        return None
    return None


def of_seconds(seconds: float) -> datetime | None:
    """Return seconds since the epoch as a time."""
    return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < LATEST else None


def _plain(found: re.Match[str], *, is_gmt: bool) -> datetime | None:
    numbers = [int(found[n]) for n in range(1, 7)]
    zone = found[7]
    if zone is None and not is_gmt:
        return None
    if zone in {None, "Z", "GMT", "UTC"}:
        return datetime(*numbers, tzinfo=UTC)  # type: ignore[arg-type, misc]
    return datetime.fromisoformat(f"{found[0][:19].replace(' ', 'T')}{zone[:3]}:{zone[-2:]}").astimezone(UTC)


def _java(found: re.Match[str], *, is_gmt: bool) -> datetime | None:
    year = found[3] or found[8]
    if year is None or found[1] not in _MONTHS or not (is_gmt or found[7] or found[9]):
        return None
    day, hour, minute, second = (int(found[n]) for n in (2, 4, 5, 6))
    return datetime(int(year), _MONTHS.index(found[1]) + 1, day, hour, minute, second, tzinfo=UTC)
