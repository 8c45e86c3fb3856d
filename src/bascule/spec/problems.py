"""
Problems: what is wrong in what people wrote, each with its path and what to do.

All problems of a file are gathered first and raised together, as one `Mistake`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from bascule.errors import Mistake

Path = tuple[str | int, ...]

MOST_SHOWN = 100
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Problem(NamedTuple):
    """One thing that is wrong at *path*, and a *hint* that says what to do."""

    path: Path
    text: str
    hint: str = ""

    def __str__(self) -> str:
        """As one line, without the place in the file."""
        said = f"{self.text}; {self.hint}" if self.hint else self.text
        return f"{path_text(self.path)}: {said}" if self.path else said


def path_text(path: Path) -> str:
    """Write *path* as people do: ``spec.after[0].job``, ``spec.env["a b"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{shortened(step)}"]'
    return text


def shortened(text: str, longest: int = 60) -> str:
    """Cut *text* to what fits in a message, on one line, without control characters."""
    return _printable(text if len(text) <= longest else f"{text[:longest]}...")


def mistake(source: str, lines: Sequence[str]) -> Mistake:
    """Return the error for *source*, whose problems are *lines*."""
    shown = tuple(_printable(line) for line in lines[:MOST_SHOWN])
    if len(lines) > MOST_SHOWN:
        shown += (f"{source}: {len(lines) - MOST_SHOWN} more problems are not shown",)
    count = "1 problem" if len(lines) == 1 else f"{len(lines):,} problems"
    return Mistake(f"`{source}` has {count}", problems=shown)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
