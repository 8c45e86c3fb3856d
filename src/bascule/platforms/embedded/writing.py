"""
How a write becomes durable: many in one transaction, each answered after the commit.

A work is a function that runs SQL. While one transaction is being flushed to the disk,
the works that arrive are gathered for the next: this group commit is what lets thousands
of intents a second be durable. A work checks before it changes anything, and may be run
again: where one fails in the middle, all of its transaction are run once more, each in
one of its own, so that none is hurt by another.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from bascule.errors import Error, Fenced
from bascule.failpoints import failpoint
from bascule.platforms.embedded.faults import breaks_connection, is_everybodys, meaning_of, translated

T = TypeVar("T")

LARGEST_BATCH = 1000


class Transaction:
    """What a work sees: the connection, and the counters of ``meta``."""

    __slots__ = ("epoch", "execute", "seq")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.execute = connection.execute
        self.seq, self.epoch = connection.execute("SELECT seq, epoch FROM meta").fetchall()[0]

    def next_version(self) -> int:
        """Count one more change."""
        self.seq += 1
        return int(self.seq)

    def require(self, epoch: int) -> None:
        """Raise `Fenced` where another driver has taken over since *epoch*."""
        if epoch != self.epoch:
            raise Fenced(
                "another process has taken over this home",
                hint="nothing is lost: the other process goes on with all jobs",
            )


Work = Callable[[Transaction], T]


class Pen:
    """The one connection of this process that writes; opened anew after a fault of the disk."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._connection: sqlite3.Connection | None = None
        self.seq = 0

    def write(self, works: list[Work[Any]]) -> list[Any]:
        """
        Run *works* in one transaction and commit; return, for each, its value or the `Error` that it raised.

        Raises what hurts all of them: then nothing of any was written.
        """
        connection = self._connection or self._connect()
        self._connection = connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            transaction = Transaction(connection)
            before = transaction.seq
            results = [_result(connection, transaction, work) for work in works]
            if transaction.seq != before:
                connection.execute("UPDATE meta SET seq = ?", (transaction.seq,))
            failpoint("store.commit")
            connection.execute("COMMIT")
            failpoint("store.committed")
            self.seq = transaction.seq
        except BaseException as fault:
            self._give_up(fault)
            raise
        return results

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _give_up(self, fault: BaseException) -> None:
        """Undo the transaction; SQLite has done so itself after some faults."""
        if self._connection is None:
            return
        if isinstance(fault, sqlite3.Error) and breaks_connection(fault):
            self.close()
        elif self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _result(connection: sqlite3.Connection, transaction: Transaction, work: Work[Any]) -> Any:
    """Run one work; return its value or its `Error`, and let pass what can only be undone as a whole."""
    changes = connection.total_changes
    try:
        return work(transaction)
    except Error as error:
        if connection.total_changes != changes:
            raise
        return error


class Writer(Protocol):
    """Where works go."""

    async def write(self, work: Work[T]) -> T:
        """Run *work*; return once its changes are durable."""

    async def aclose(self) -> None:
        """Finish what was asked for, then close."""


class InlineWriter:
    """Writes at once, in the caller's own thread: for simulations, whose every run must take the same course."""

    def __init__(self, pen: Pen, *, database: Path, told: Callable[[int], None]) -> None:
        self._pen = pen
        self._database = database
        self._told = told

    async def write(self, work: Work[T]) -> T:
        """Run *work*; return once its changes are durable."""
        await asyncio.sleep(0)  # a place to crash at, before the commit and after it
        with translated(self._database):
            result = self._pen.write([work])[0]
        self._told(self._pen.seq)
        await asyncio.sleep(0)
        if isinstance(result, Error):
            raise result
        return result  # type: ignore[no-any-return]

    async def aclose(self) -> None:
        """Close."""
        self._pen.close()


class GroupWriter:
    """Gathers works and has them written by a thread; all methods are for one event loop."""

    def __init__(self, pen: Pen, *, database: Path, told: Callable[[int], None]) -> None:
        self._pen = pen
        self._thread = ThreadPoolExecutor(1, "bascule-writer")
        self._database = database
        self._told = told
        self._waiting: list[_Asked] = []
        self._alone: list[_Asked] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    async def write(self, work: Work[T]) -> T:
        """Run *work*; return once its changes are durable."""
        if self._closed:
            raise RuntimeError("the store is closed")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._waiting.append(_Asked(work, answer))
        if self._idle.is_set():
            self._idle.clear()
            # Not at once: whoever else is ready in this turn of the loop comes along.
            loop.call_soon(self._start)
        return await answer

    async def aclose(self) -> None:
        """Finish what was asked for, then close."""
        self._closed = True
        await self._idle.wait()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._pen.close)
        self._thread.shutdown()

    def _start(self) -> None:
        if self._alone:
            batch = [self._alone.pop(0)]
        else:
            batch, self._waiting = self._waiting[:LARGEST_BATCH], self._waiting[LARGEST_BATCH:]
        works = [asked.work for asked in batch]
        written = asyncio.get_running_loop().run_in_executor(self._thread, self._pen.write, works)
        written.add_done_callback(lambda done: self._deliver(batch, done))

    def _deliver(self, batch: list[_Asked], written: asyncio.Future[list[Any]]) -> None:
        """Give each caller its answer, and go on with what has come meanwhile."""
        fault = written.exception()
        if fault is None:
            self._told(self._pen.seq)
            for asked, result in zip(batch, written.result(), strict=True):
                asked.answer_with(result)
        elif len(batch) > 1 and not _hurts_all(fault):
            self._alone += batch
        else:
            for asked in batch:
                asked.fail(fault, self._database)
        if self._alone or self._waiting:
            self._start()
        else:
            self._idle.set()


class _Asked(NamedTuple):
    """A work, and where its answer is awaited."""

    work: Work[Any]
    answer: asyncio.Future[Any]

    def answer_with(self, result: Any) -> None:
        if self.answer.done():
            return  # whoever asked was cancelled; what was written stays
        if isinstance(result, Error):
            self.answer.set_exception(result)
        else:
            self.answer.set_result(result)

    def fail(self, fault: BaseException, database: Path) -> None:
        if self.answer.done():
            return
        meaning = meaning_of(fault, database) if isinstance(fault, sqlite3.Error) else None
        if meaning is not None:
            meaning.__cause__ = fault
        self.answer.set_exception(meaning or fault)


def _hurts_all(fault: BaseException) -> bool:
    """Tell whether no work of the batch would fare better alone."""
    return isinstance(fault, sqlite3.Error) and is_everybodys(fault)
