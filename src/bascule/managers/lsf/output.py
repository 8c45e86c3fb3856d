"""
Output, from any byte on: though Application Center gives files only whole.

What was brought is kept for a while, and brought again only when there is more: the list of
the job's files tells how long each is, for some hundred bytes.
"""

from __future__ import annotations

import posixpath
from collections import OrderedDict
from typing import NamedTuple

from bascule.errors import Unavailable
from bascule.managers.lsf.center import LARGEST_FILE, Center
from bascule.managers.lsf.note import Note, note_from, note_in
from bascule.managers.lsf.reporting import is_of
from bascule.managers.lsf.wrapper import NAME, filled, note_line
from bascule.model import Chunk, Handle
from bascule.ports import Stream

MOST = 4 << 20
"""Bytes in one read, whatever is asked for."""
REMEMBERED = 1000
KEPT = 64 << 20
"""Bytes of output that are kept, of all jobs together."""


class _Wish(NamedTuple):
    id: str
    key: str
    path: str


class Output:
    """The output files of one Application Center's jobs."""

    def __init__(self, center: Center) -> None:
        self._center = center
        self._kept: OrderedDict[_Wish, bytes] = OrderedDict()
        self._notes: OrderedDict[_Wish, Note] = OrderedDict()

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int, index: int | None) -> Chunk:
        """Read a piece; `Manager.read`."""
        note = await self._note(handle)
        if not note.output:
            return Chunk(b"", offset, 0, gone=True)
        if stream == "error" and note.error in {"", note.output}:
            return Chunk(b"", offset, 0)  # both go into one file, which is the output: shown twice it would mislead
        path = filled(note.error if stream == "error" else note.output, job=handle.id, index=index)
        wish = _Wish(handle.id, handle.key, path)
        data = self._kept.get(wish, b"")
        if offset >= len(data):
            data = await self._renewed(wish, data, offset)
        return Chunk(data[offset : offset + max(0, min(limit, MOST))], offset, len(data))

    async def _renewed(self, wish: _Wish, kept: bytes, offset: int) -> bytes:
        size = await self._size(wish)
        if size is not None and size <= len(kept) and offset >= size:
            return kept
        if size is not None and size > LARGEST_FILE:
            raise Unavailable(
                f"`{wish.path}` of job `{wish.id}` has {size:,} bytes, and Application Center gives files only whole",
                hint=f"more than {LARGEST_FILE >> 20} MiB are not brought; read it on the cluster",
            )
        files = await self._center.download(wish.id, [wish.path])
        data = files.get(wish.path, b"")
        self._kept.pop(wish, None)
        self._kept[wish] = data
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > KEPT:
            self._kept.popitem(last=False)
        return data

    async def _size(self, wish: _Wish) -> int | None:
        """Return how long the file is; None where the list of the job's files does not have it."""
        for path, size in (await self._center.files(wish.id)).items():
            if path == wish.path or (not wish.path.startswith("/") and path.endswith(f"/{wish.path}")):
                return size
        # A job's own folder is listed whole: what is not in it yet is empty.
        return None if posixpath.isabs(wish.path) else 0

    async def _note(self, handle: Handle) -> Note:
        """Return where the output lies: as was noted at the submit, or in the job's description, or in its wrapper."""
        note = note_from(handle.place)
        if note.output:
            return note
        wish = _Wish(handle.id, handle.key, NAME)
        if wish in self._notes:
            return self._notes[wish]
        note = await self._found_note(handle)
        if note.output:
            self._notes[wish] = note
            while len(self._notes) > REMEMBERED:
                self._notes.popitem(last=False)
        return note

    async def _found_note(self, handle: Handle) -> Note:
        records = (await self._center.details([handle.id])).records
        ours = [record for record in records if is_of(record, handle)]
        note = next((note_in(record.description) for record in ours), Note())
        if note.output or not ours:
            return note
        wrapper = (await self._center.download(handle.id, [NAME])).get(NAME, b"")
        return note_in(note_line(wrapper[:8192].decode(errors="replace")))
