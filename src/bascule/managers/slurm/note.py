"""
What a handle's `place` holds: where a job's output goes, and what its array has.

Written at submit, and rebuilt from Slurm's own record for a job that was found by its
key; there the comment carries what Slurm would not tell (the indices of an array).
"""

from __future__ import annotations

import re

import msgspec

from bascule.managers.slurm.indices import indices_in
from bascule.managers.slurm.records import Record

COMMENT = re.compile(r"(?P<key>[a-z0-9-]+)(?: \[(?P<array>[0-9,:-]+)\])?(?:: (?P<text>.*))?", re.DOTALL)


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job's folder, the patterns of its output files, its array's indices, whether a wrapper marks its end."""

    folder: str = ""
    output: str = ""
    error: str = ""
    array: str = ""
    marked: bool = False

    @property
    def indices(self) -> tuple[int, ...]:
        """All indices of the array."""
        return indices_in(self.array)

    def written(self) -> str:
        """As a handle's `place`."""
        return msgspec.json.encode(self).decode()


def note_from(place: str) -> Note:
    """Read a handle's `place`; nothing where it holds nothing of ours."""
    try:
        return msgspec.json.decode(place, type=Note) if place else Note()
    except msgspec.DecodeError:
        return Note()


def note_of(record: Record) -> Note:
    """Return the note of a job that was found."""
    found = COMMENT.fullmatch(record.comment)
    array = (found["array"] or "") if found and found["key"] == record.name else ""
    return Note(record.folder, record.output, record.error, array)


def key_in(comment: str) -> str:
    """Return the key that a comment of ours begins with; of any other, whatever it begins with."""
    found = COMMENT.fullmatch(comment)
    return found["key"] if found else ""


def comment_of(key: str, array: str, text: str) -> str:
    """Return the comment for a job: its key once more, its indices, and the user's own words."""
    indices = f" [{array.partition('%')[0]}]" if array else ""
    return f"{key}{indices}: {text}" if text else f"{key}{indices}"
