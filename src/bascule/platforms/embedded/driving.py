"""
Who drives a home: one process at a time, by a lock of the operating system.

The lock lives and dies with the process, whatever ends it. The epoch in the database is
for the process that was frozen, lost its lock in some unforeseen way, and wakes up.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PROCESSES = Path("/proc")


@dataclass(frozen=True, slots=True)
class Driver:
    """The process that drives a home; *is_stopped* by Ctrl-Z or the like."""

    pid: int
    command: str
    is_stopped: bool = False

    def __str__(self) -> str:
        """For a person who wonders who that is."""
        stopped = ", which is stopped (Ctrl-Z?)" if self.is_stopped else ""
        return f"process {self.pid} (`{self.command}`){stopped}"


class DriverLock:
    """The right to drive; let go by `release` or by the kernel when the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    @property
    def is_held(self) -> bool:
        """Tell whether this object holds the lock."""
        return self._file is not None

    def acquire(self) -> bool:
        """Take the lock if nobody has it, and write down who we are."""
        if self._file is not None:
            return True
        # Python closes this file in programs that we start; `_forget_in_child` does for plain forks.
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _try_lock(file, fcntl.LOCK_EX):
            os.close(file)
            return False
        self._file = file
        _HELD.add(self)
        with suppress(OSError):  # on a full disk; who we are is only for people
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps({"pid": os.getpid(), "command": _own_command()}).encode(), 0)
        return True

    def release(self) -> None:
        """Let the lock go."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self.forget()

    def forget(self) -> None:
        """Close the file; the lock stays with another process that shares it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def holder(self) -> Driver | None:
        """Return who holds the lock, this process included; None where nobody does."""
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            # Shared and for an instant: two who ask do not see each other.
            if self._file is None and _try_lock(file, fcntl.LOCK_SH):
                return None
            return _driver_from(os.pread(file, 4096, 0))
        finally:
            os.close(file)


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Wait until no other process is within this block for *path*."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _try_lock(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _driver_from(content: bytes) -> Driver:
    try:
        who = json.loads(content)
        pid, command = int(who["pid"]), str(who["command"])
    except (ValueError, KeyError, TypeError):
        return Driver(pid=0, command="unknown")  # it is just about to write who it is
    return Driver(pid, command, is_stopped=_state_of(pid) in {"T", "t"})


def _state_of(pid: int) -> str:
    """Return the letter of the process's state as in proc_pid_stat(5); empty where it cannot be seen."""
    try:
        text = (PROCESSES / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[0]  # the name in brackets may hold anything


def _own_command() -> str:
    """Return how this process was called, shortened; arguments may hold what is nobody's business."""
    words = [Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python", *sys.argv[1:2]]
    return " ".join(words)[:200]


_HELD: weakref.WeakSet[DriverLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    """A fork shares the lock; without this it would hold it when the driver is gone."""
    for lock in _HELD:
        lock.forget()


os.register_at_fork(after_in_child=_forget_in_child)
