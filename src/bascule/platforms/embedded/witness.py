"""
The witness: a small file that knows how far the database had come.

Where the database is behind its witness, or is another file than the witness knew, it is
a copy from a backup: jobs in it may have been submitted, or have ended, without its
knowing. The core then looks before it acts on any job that is older than this moment.
A witness that is behind proves nothing; it is not flushed to the disk at every change.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

_LENGTH = 96


class Witness(NamedTuple):
    """How far the database with the inode *file* had come."""

    epoch: int
    seq: int
    file: int

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return what was written last; None where there is nothing that can be read."""
        try:
            line, _, check = path.read_bytes().rstrip().rpartition(b" ")
            if int(check) != zlib.crc32(line):
                return None  # read while it was written
            return cls(*map(int, line.split()))
        except (OSError, ValueError, TypeError):
            return None

    def is_ahead_of(self, now: Witness) -> bool:
        """Tell whether the database, which is at *now*, is older than what was here."""
        return self.file != now.file or self.epoch > now.epoch or self.seq > now.seq

    def write(self, path: Path) -> None:
        """Put this in the file's place, durably."""
        new = path.with_name(f"{path.name}.new")
        new.touch(mode=0o600)
        with new.open("wb") as file:
            file.write(self.line())
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def line(self) -> bytes:
        """Return this as it is written, always of the same length, with a check sum."""
        line = b"%d %d %d" % self
        return (b"%s %d" % (line, zlib.crc32(line))).ljust(_LENGTH - 1) + b"\n"


class Notebook:
    """Keeps a witness up to date at every commit, for the price of one small write that is not flushed."""

    def __init__(self, path: Path, witness: Witness) -> None:
        witness.write(path)
        self._witness = witness
        self._file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)

    def note(self, seq: int) -> None:
        """Write down that the database has come to *seq*."""
        self._witness = self._witness._replace(seq=seq)
        with suppress(OSError):  # a witness that is behind proves nothing
            os.pwrite(self._file, self._witness.line(), 0)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
