"""Read pieces of a job's output, which it may truncate, replace or remove meanwhile."""

from __future__ import annotations

import os
import stat

from bascule.model import Chunk

LARGEST = 1024 * 1024
"""The most that one call reads, whatever is asked for."""


def read(path: str, offset: int, limit: int, *, begin: int = 0) -> Chunk:
    """Return at most *limit* bytes from *offset* behind *begin* on; *gone* where there is no such plain file."""
    try:
        # Without O_NONBLOCK, a FIFO that the job has put there would hold us.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return Chunk(b"", offset, 0, gone=True)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return Chunk(b"", offset, 0, gone=True)
        size = max(found.st_size - begin, 0)
        data = os.pread(descriptor, max(0, min(limit, LARGEST)), begin + offset) if offset < size else b""
        return Chunk(data, offset, max(size, offset + len(data)) if data else size)
    except OSError:
        return Chunk(b"", offset, 0, gone=True)
    finally:
        os.close(descriptor)
