"""
The witness: a small file that knows how far the database had come.

Where the database is behind its witness it is a copy from a backup: jobs in it may have
been submitted, or have ended, without its knowing. The core then looks before it acts on
any job that is older than this moment. A witness that came from the backup too is no
witness; it is known by its time. One that is behind proves nothing: it is not flushed to
the disk at every change. What no file can notice is a whole disk set back, as with the
snapshot of a virtual machine.
"""

from __future__ import annotations

import os
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

TOLERANCE = 60.0
"""How many seconds the time within may differ from the file's: after a loss of power the last content may be missing."""

_LENGTH = 96


class Witness(NamedTuple):
    """How far the database had come."""

    epoch: int
    seq: int

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return what was written last; None where there is nothing, or nothing that was written here."""
        try:
            line, _, check = path.read_bytes().rstrip().rpartition(b" ")
            if int(check) != zlib.crc32(line):
                return None  # read while it was written
            epoch, seq, millis = map(int, line.split())
            # No copy can keep the time of the last change of status, which `cp -a` and `tar` cannot set.
            if abs(path.stat().st_ctime - millis / 1000) > TOLERANCE:
                return None
            return cls(epoch, seq)
        except (OSError, ValueError):
            return None

    def is_ahead_of(self, present: Witness) -> bool:
        """Tell whether the database, which is at *present*, is older than what was here."""
        return self.epoch > present.epoch or self.seq > present.seq

    def write(self, path: Path, *, durably: bool) -> None:
        """Put this in the file's place."""
        new = path.with_name(f"{path.name}.new")
        new.touch(mode=0o600)
        with new.open("wb") as file:
            file.write(self.line())
            file.flush()
            if durably:
                os.fsync(file.fileno())
            new.replace(path)
            if durably:
                _flush_folder(path.parent)
            # All this may have taken longer than is tolerated.
            os.pwrite(file.fileno(), self.line(), 0)

    def line(self) -> bytes:
        """Return this as it is written now, always of the same length, with a check sum."""
        line = b"%d %d %d" % (*self, int(time.time() * 1000))
        return (b"%s %d" % (line, zlib.crc32(line))).ljust(_LENGTH - 1) + b"\n"


class Notebook:
    """Keeps a witness up to date at every commit, for the price of one small write that is not flushed."""

    def __init__(self, path: Path, witness: Witness, *, durably: bool) -> None:
        witness.write(path, durably=durably)
        self._epoch = witness.epoch
        self._file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)

    def note(self, seq: int) -> None:
        """Write down that the database has come to *seq*."""
        with suppress(OSError):  # a witness that is behind proves nothing
            os.pwrite(self._file, Witness(self._epoch, seq).line(), 0)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _flush_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
