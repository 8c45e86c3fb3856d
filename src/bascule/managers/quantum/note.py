"""What a handle's `place` holds, and the tags from which it is made again for a job that was found by its key."""

from __future__ import annotations

import msgspec

from bascule.managers.quantum.wire import JobRecord
from bascule.model import parts_of

CLOSES = "bascule-closes-session"


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """The session that a job is in, and whether it is closed when the job is over."""

    session: str = ""
    closes: bool = False

    def written(self) -> str:
        """As a handle's `place`."""
        return msgspec.json.encode(self).decode()


def note_from(place: str) -> Note:
    """Read a handle's `place`; nothing where it holds nothing of ours."""
    try:
        return msgspec.json.decode(place, type=Note) if place else Note()
    except msgspec.DecodeError:
        return Note()


def note_of(record: JobRecord) -> Note:
    """Return the note of a job as the service has it."""
    return Note(record.session_id or "", bool(record.session_id) and CLOSES in record.tags)


def tags_of(key: str, *, closes: bool) -> list[str]:
    """Return the tags for a job: its key, whose it is, and what is to be done at its end."""
    parts = parts_of(key)
    mark = [mark_of(parts.installation)] if parts else []
    return [key, *mark, *([CLOSES] if closes else [])]


def mark_of(installation: str) -> str:
    """Return the tag that all jobs of an installation bear."""
    return f"bascule-{installation}"


def key_in(record: JobRecord) -> str:
    """Return the key among a job's tags; empty where there is none."""
    return next((tag for tag in record.tags if parts_of(tag) is not None and tag != CLOSES), "")
