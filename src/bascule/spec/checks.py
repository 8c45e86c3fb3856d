"""How a check says no, and the two checks that hold for everything that is written."""

from __future__ import annotations

import math
from typing import Any

from pydantic_core import PydanticCustomError

from bascule.spec.problems import shortened

MOST_FREE_BYTES = 256 * 1024
MOST_FREE_VALUES = 10_000
DEEPEST_FREE = 32


def fault(text: str, hint: str = "") -> PydanticCustomError:
    """Return the error that a check raises; *text* and *hint* reach the user as they are."""
    return PydanticCustomError("bascule", "{text}", {"text": text, "hint": hint})


def check_text(text: str) -> str:
    """Refuse what no program can be given: NUL, and what is no Unicode."""
    if "\0" in text:
        raise fault("holds a NUL character, which no program can be given")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise fault(f"is no valid Unicode at character {error.start:,}") from error
    return text


def check_free(value: dict[str, Any]) -> dict[str, Any]:
    """Bound a free mapping: only JSON values, not too deep, not too many."""
    left = [MOST_FREE_VALUES, MOST_FREE_BYTES]
    _walk(value, DEEPEST_FREE, left)
    return value


def _walk(value: object, depth: int, left: list[int]) -> None:
    left[0] -= 1
    if depth < 0:
        raise fault(f"is nested deeper than {DEEPEST_FREE} levels")
    match value:
        case dict():
            for key, item in value.items():
                if not isinstance(key, str):
                    raise fault(f"has the key `{shortened(str(key))}`, which is no text", "quote it")
                _walk(key, depth, left)
                _walk(item, depth - 1, left)
        case list():
            for item in value:
                _walk(item, depth - 1, left)
        case str():
            check_text(value)
            left[1] -= len(value.encode())
        case float() if not math.isfinite(value):
            raise fault("holds a number that JSON does not have", "leave it out, or quote it")
        case int() if not -(2**63) <= value < 2**63:
            raise fault("holds a number of more than 64 bits", "quote it")
        case None | bool() | int() | float():
            pass
        case _:
            raise fault(f"holds a {type(value).__name__}, which JSON does not have")
    if left[0] < 0:
        raise fault(f"holds more than {MOST_FREE_VALUES:,} values")
    if left[1] < 0:
        raise fault(f"holds more than {MOST_FREE_BYTES // 1024} KiB of text")
