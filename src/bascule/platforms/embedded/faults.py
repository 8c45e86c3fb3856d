"""What SQLite's troubles mean for people: translated once, here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bascule.errors import Error, StoreFailed, Unavailable

# Primary result codes, from https://sqlite.org/rescode.html; Python 3.11 names them only in exceptions.
_BUSY = frozenset({5, 6})  # BUSY, LOCKED
_FULL = frozenset({13})
_CLOSED = frozenset({8, 14})  # READONLY, CANTOPEN
_FAILED = frozenset({10})  # IOERR
_DAMAGED = frozenset({11, 26})  # CORRUPT, NOTADB
_NO_ROOM_FOR_INDEX = 10 | 19 << 8  # IOERR_SHMSIZE: the index of the write-ahead log could not grow


@contextmanager
def translated(database: Path) -> Iterator[None]:
    """Turn errors of SQLite and of files beside it into ours; those that only a bug can cause pass through."""
    try:
        yield
    except sqlite3.Error as fault:
        meaning = meaning_of(fault, database)
        if meaning is None:
            raise
        raise meaning from fault
    except OSError as fault:
        raise StoreFailed(
            f"`{fault.filename or database}` cannot be written: {fault.strerror}",
            hint=f"is there room on the disk (`df {database.parent}`), and may you write there?",
        ) from fault


def meaning_of(fault: sqlite3.Error, database: Path) -> Error | None:
    """Return what *fault* means; None where only a bug can have caused it."""
    code = _code_of(fault)
    if code in _FULL:
        return StoreFailed(
            f"the disk is full: `{database}` cannot grow",
            hint="make room on that disk; what was accepted is safe, and work goes on by itself",
        )
    if code in _CLOSED:
        return StoreFailed(
            f"`{database}` cannot be opened: {fault}",
            hint=f"`ls -la {database.parent}` shows whose it is; is the disk mounted read-only?",
        )
    if code in _FAILED:
        return StoreFailed(
            f"the disk failed under `{database}`: {fault}",
            hint="see the system's log (`dmesg`), and whether a quota is used up (`quota`); what was accepted is safe",
        )
    if code in _DAMAGED:
        return StoreFailed(
            f"`{database}` is damaged: {fault}",
            hint=f"check it with `sqlite3 {database} 'PRAGMA integrity_check'`; "
            "put a copy from a backup in its place, or save what is left with sqlite3's `.recover`",
        )
    if code in _BUSY:
        return Unavailable(
            f"another process has been writing to `{database}` for too long",
            hint=f"it may be stopped (Ctrl-Z) or hang: `fuser -v {database}` names it",
        )
    return None


def is_everybodys(fault: sqlite3.Error) -> bool:
    """Tell whether *fault* would meet any other write too; for want of room, a smaller one may fit."""
    return _code_of(fault) in _BUSY | _CLOSED | _FAILED | _DAMAGED


def breaks_connection(fault: sqlite3.Error) -> bool:
    """Tell whether the connection should be opened anew after *fault*."""
    return _code_of(fault) in _CLOSED | _FAILED | _DAMAGED


def _code_of(fault: sqlite3.Error) -> int:
    """Return SQLite's primary result code."""
    code = getattr(fault, "sqlite_errorcode", 0)
    return 13 if code == _NO_ROOM_FOR_INDEX else code & 0xFF
