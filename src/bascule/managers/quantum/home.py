"""
The folder of a job's results, written once and whole.

``results.jsonl`` is what ``bascule logs`` prints, ``counts.json`` and ``*.npy`` hold what was
decoded, ``service.json`` the service's own encoding, ``log.txt`` and ``metrics.json`` the rest.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bascule.errors import Mistake, Unavailable
from bascule.model import Chunk, Handle

OUTPUT = "results.jsonl"
LOG = "log.txt"
MOST = 4 << 20
"""Bytes in one read, whatever is asked for."""


class Home:
    """Folders beneath *root*, one for each job; *is_ours* if they may be removed with it."""

    def __init__(self, root: Path, *, is_ours: bool) -> None:
        self._root = root
        self._is_ours = is_ours

    def folder(self, handle: Handle) -> Path:
        """Return the folder of a job."""
        name = handle.key or f"job-{handle.id}"
        if "/" in name or name.startswith(".") or "\0" in name:
            raise Mistake(f"`{name[:80]}` can name no folder", hint="is it an id of the quantum service?")
        return self._root / name

    def has(self, handle: Handle) -> bool:
        """Tell whether a job's results are here."""
        return (self.folder(handle) / LOG).is_file()

    async def store(self, handle: Handle, files: Mapping[str, bytes]) -> Path:
        """Write a job's files; where they are here already, they stay."""
        folder = self.folder(handle)
        try:
            await asyncio.to_thread(_write, folder, files)
        except OSError as error:
            raise Unavailable(
                f"the results of job `{handle.id}` cannot be written to `{folder}`: {error.strerror}",
                hint="is the disk full, or `files.root` of the target not there?",
            ) from error
        return folder

    async def read(self, handle: Handle, name: str, offset: int, limit: int) -> Chunk:
        """Read a piece of a file; one that is not there is empty."""
        return await asyncio.to_thread(_read, self.folder(handle) / name, offset, limit)

    async def forget(self, handle: Handle) -> None:
        """Remove a job's folder, unless it is the user's own."""
        if self._is_ours:
            await asyncio.to_thread(shutil.rmtree, self.folder(handle), ignore_errors=True)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name, data in files.items():
            (beside / name).write_bytes(data)
        # Whoever sees the folder sees all of it; the one who comes second finds it made.
        with suppress(FileExistsError):
            _rename(beside, folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _rename(beside: Path, folder: Path) -> None:
    try:
        beside.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _read(path: Path, offset: int, limit: int) -> Chunk:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return Chunk(b"", offset, 0)
    except OSError as error:
        raise Unavailable(f"`{path}` cannot be read: {error.strerror}", hint="may this user read it?") from error
    try:
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, max(0, min(limit, MOST)), max(0, offset)) if offset < size else b""
        return Chunk(data, offset, size)
    finally:
        os.close(descriptor)
