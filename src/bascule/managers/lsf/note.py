"""
What a handle's `place` holds: where a job's output goes, and what its array has.

Written at submit, and put into the job's description too, so that a job that was found by
its key can be read like one that was submitted here.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import msgspec

from bascule.model import indices_of

_MARK = "bascule"
_SPAN = r"\d{1,7}(?:-\d{1,7}(?::\d{1,7})?)?"
_INDICES = rf"{_SPAN}(?:,{_SPAN})*"
_FIELD = re.compile(r"([oeal])=([^,\s]*)")


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """The output files, from the job's own folder or whole, the array's indices, the walltime in seconds."""

    output: str = ""
    error: str = ""
    array: str = ""
    limit: int = 0

    @property
    def indices(self) -> tuple[int, ...]:
        """All indices of the array."""
        return indices_of(self.array) if self.array else ()

    def written(self) -> str:
        """As a handle's `place`."""
        return msgspec.json.encode(self).decode()

    def described(self, words: str = "") -> str:
        """As a job's description: one word that needs no quoting, then the user's own."""
        fields = [f"{name}={quote(value, safe='/._-+@')}" for name, value in self._fields() if value]
        mark = ",".join([_MARK, *fields])
        return f"{mark} {words}" if words else mark

    def _fields(self) -> tuple[tuple[str, str], ...]:
        limit = str(self.limit) if self.limit else ""
        return (("o", self.output), ("e", self.error), ("a", self.array), ("l", limit))


def note_from(place: str) -> Note:
    """Read a handle's `place`; nothing where it holds nothing of ours."""
    try:
        return msgspec.json.decode(place, type=Note) if place else Note()
    except msgspec.DecodeError:
        return Note()


def note_in(description: str) -> Note:
    """Return the note in a job's description; nothing where there is none."""
    word, _, rest = description.partition(" ")[0].partition(",")
    if word != _MARK:
        return Note()
    fields = {name: unquote(value) for name, value in _FIELD.findall(rest)}
    array, limit = fields.get("a", ""), fields.get("l", "0")
    if not (re.fullmatch(_INDICES, array) or not array) or not re.fullmatch(r"\d{1,9}", limit):
        return Note()
    return Note(fields.get("o", ""), fields.get("e", ""), array, int(limit))
