"""Files that are there as a whole or not at all, also after a loss of power."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def replace_file(path: Path, data: bytes, *, durable: bool) -> None:
    """
    Put *data* at *path* as a whole; once this returns, *durable* data survives a loss of power.

    Of several who do so at once, the last wins.
    """
    torn = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    descriptor = os.open(torn, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
        torn.rename(path)
        if durable:
            # Synced after the rename, so that the file system writes its journal once for both.
            # Power that is lost in between leaves an empty file, which every reader can do without.
            os.fsync(descriptor)
            sync_folder(path.parent)
    except BaseException:
        torn.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Make the names in *path* survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def content_of(path: Path) -> bytes:
    """Return what is in *path*; nothing where there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
