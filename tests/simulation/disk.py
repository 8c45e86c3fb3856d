"""
The disk under a simulated process: full at times, and at times not sure what it wrote.

Faults are raised as SQLite raises them, beneath the production code that writes.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from bascule.platforms.embedded.store import Store

FULL, FAILED = 13, 10
"""Result codes, from https://sqlite.org/rescode.html."""


@dataclass(slots=True)
class Disk:
    """How the disk is: *full* writes nothing; *shaky* may report a failure of what it did write."""

    state: Literal["good", "full", "shaky"] = "good"

    def put_under(self, store: Store, luck: Random) -> None:
        """Let everything that *store* writes go through this disk."""
        pen = store._writer._pen  # type: ignore[attr-defined]
        connect = pen._connect
        pen._connect = lambda: _Connection(connect(), self, luck)


class _Connection:
    """A connection of SQLite on this disk."""

    def __init__(self, connection: sqlite3.Connection, disk: Disk, luck: Random) -> None:
        self._connection = connection
        self._disk = disk
        self._luck = luck

    @property
    def total_changes(self) -> int:
        return self._connection.total_changes

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, statement: str, parameters: Any = ()) -> sqlite3.Cursor:
        if self._disk.state == "good" or not statement.startswith(("INSERT", "UPDATE", "DELETE", "COMMIT")):
            return self._connection.execute(statement, parameters)
        if self._disk.state == "full":
            raise _fault(FULL, "database or disk is full")
        if statement != "COMMIT" or self._luck.random() < 0.5:
            return self._connection.execute(statement, parameters)
        if self._luck.random() < 0.5:
            self._connection.execute(statement, parameters)  # written, and yet the flush is said to have failed
        raise _fault(FAILED, "disk I/O error")

    def close(self) -> None:
        self._connection.close()


def _fault(code: int, words: str) -> sqlite3.Error:
    fault = sqlite3.OperationalError(words)
    fault.sqlite_errorcode = code
    return fault
