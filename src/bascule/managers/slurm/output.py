"""Output files, read through the folder that both sides see."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple

from bascule.errors import Mistake
from bascule.journal import Logger
from bascule.managers.slurm.answers import is_of, latest
from bascule.managers.slurm.cluster import Cluster
from bascule.managers.slurm.folder import read_chunk
from bascule.managers.slurm.nodes import expanded
from bascule.managers.slurm.note import Note, note_from, note_of
from bascule.managers.slurm.patterns import filled, in_folder, is_beneath, letters_in
from bascule.managers.slurm.records import Record
from bascule.model import Chunk, Handle
from bascule.ports import Stream

log = Logger(__name__)

REMEMBERED = 1000


class _Wish(NamedTuple):
    id: str
    stream: Stream
    task: int | None


class Output:
    """The output files of one cluster's jobs."""

    def __init__(self, cluster: Cluster, root: str | None) -> None:
        self._cluster = cluster
        self._root = root
        self._paths: OrderedDict[_Wish, str] = OrderedDict()

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int, index: int | None) -> Chunk:
        """Read a piece; `Manager.read`."""
        if self._root is None:
            raise Mistake(
                "the output of Slurm's jobs cannot be read here: the target names no shared folder",
                hint="set the target's `files.root` to a folder that the cluster and this machine both see",
            )
        path = await self._path(handle, stream, index)
        if path is None:
            return Chunk(b"", offset, 0)
        if not is_beneath(path, self._root):
            log.warning("slurm.output_elsewhere", path=path, root=self._root)
            return Chunk(b"", offset, 0, gone=True)
        return await asyncio.to_thread(read_chunk, self._root, path, offset, limit)

    async def _path(self, handle: Handle, stream: Stream, index: int | None) -> str | None:
        """Return where the file lies; None while that is not known yet (a name with the node in it), or it is the output's."""
        wish = _Wish(handle.id, stream, index)
        if wish in self._paths:
            return self._paths[wish]
        note = note_from(handle.place)
        records: list[Record] = []
        if not note.output or self._needs_record(note, stream, index):
            records = [record for record in await self._cluster.live_one(handle.id) if is_of(record, handle)]
            if not records and (await self._cluster.facts()).accounting:
                rows, _ = await self._cluster.past([handle.id])
                records = [row for row in rows if is_of(row, handle)]
            if not records:
                return None
            if not note.output:
                note = note_of(latest(records))
        if stream == "error" and note.error in {"", note.output}:
            return None  # both go into one file, which is the output: shown twice it would mislead
        path = self._filled(note, handle, stream, index, records)
        if path is not None:
            self._paths[wish] = path
            while len(self._paths) > REMEMBERED:
                self._paths.popitem(last=False)
        return path

    @staticmethod
    def _needs_record(note: Note, stream: Stream, index: int | None) -> bool:
        letters = letters_in(note.error if stream == "error" else note.output)
        return "N" in letters or (index is not None and "j" in letters)

    def _filled(
        self, note: Note, handle: Handle, stream: Stream, index: int | None, records: list[Record]
    ) -> str | None:
        record = self._task(records, index)
        name = (note.error or note.output) if stream == "error" else note.output
        values = {
            "j": str(record.id) if record is not None else handle.id,
            "J": str(record.id) if record is not None else handle.id,
            "A": handle.id,
            "a": str(index) if index is not None else "",
            "x": handle.key or (record.name if record is not None else ""),
            "u": self._cluster.user,
            "n": "0",
            "t": "0",
            "s": "batch",
        }
        if index is None and not note.array:
            values["A"], values["a"] = handle.id, "4294967294"
        if "N" in letters_in(name):
            nodes = expanded(record.nodes) if record is not None else ()
            if not nodes:
                return None
            values["N"] = nodes[0].partition(".")[0]
        return in_folder(note.folder, filled(name, values))

    @staticmethod
    def _task(records: list[Record], index: int | None) -> Record | None:
        if index is not None:
            records = [record for record in records if record.task == index]
        return latest(records) if records else None
