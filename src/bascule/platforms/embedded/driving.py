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
_FREE = b"free\n"


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
        _write(file, json.dumps(_about_us()).encode())
        return True

    def release(self) -> None:
        """Let the lock go."""
        if self._file is not None:
            _write(self._file, _FREE)
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self.forget()

    def forget(self) -> None:
        """Close the file; the lock stays with another process that shares it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def holder(self) -> Driver | None:
        """
        Return who holds the lock, this process included; None where nobody does.

        To try the lock is the last resort: it would keep a driver from taking it just then.
        """
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        if content == _FREE:
            return None
        try:
            who = json.loads(content)
            pid, command, started, namespace = (who[key] for key in ("pid", "command", "started", "namespace"))
        except (ValueError, KeyError, TypeError):
            return Driver(0, "unknown") if self._is_taken() else None
        if namespace != _namespace():  # in another container, whose process numbers mean nothing here
            return Driver(pid, command) if self._is_taken() else None
        state = _state_of(pid, started)
        return Driver(pid, command, is_stopped=state in {"T", "t"}) if state not in {"", "Z", "X"} else None

    def _is_taken(self) -> bool:
        if self._file is not None:
            return True
        file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return not _try_lock(file, fcntl.LOCK_SH)
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


def _write(file: int, content: bytes) -> None:
    with suppress(OSError):  # on a full disk; who we are is only for people
        os.pwrite(file, content, 0)
        os.ftruncate(file, len(content))


def _about_us() -> dict[str, object]:
    """Return how others can tell who we are, and whether we still live."""
    pid = os.getpid()
    return {"pid": pid, "started": _stat_of(pid)[19:20], "namespace": _namespace(), "command": _own_command()}


def _state_of(pid: int, started: list[str]) -> str:
    """Return the letter of the process's state; empty where there is none of that number that *started* then."""
    stat = _stat_of(pid)
    return stat[0] if stat and stat[19:20] == started else ""


def _stat_of(pid: int) -> list[str]:
    """Return the fields of proc_pid_stat(5) from the state on."""
    try:
        text = (PROCESSES / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name in brackets may hold anything


def _namespace() -> str:
    """Return in which namespace our process numbers mean something."""
    try:
        return str((PROCESSES / "self" / "ns" / "pid").readlink())
    except OSError:
        return ""


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
