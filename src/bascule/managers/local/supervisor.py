"""
The supervisor: the process that takes up orders, and lives as long as there are any.

One per home, by a lock; started by whoever needs one (``summon``). It sleeps until it
is woken through the FIFO, a job's wrapper ends, or something is due. It may be killed at
any time: jobs run on, and the next one finds them.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

from bascule.failpoints import failpoint
from bascule.managers.local import cgroups
from bascule.managers.local.journal import Journal
from bascule.managers.local.spool import Spool
from bascule.managers.local.workload import Workload

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_LONGEST_SLEEP = 60.0
_LOCK_WITHIN = 5.0


class Supervisor:
    """The loop around a workload."""

    def __init__(self, spool: Spool, groups: cgroups.Cgroups, *, idle: float) -> None:
        self._spool = spool
        self._idle = idle
        self._log = Journal(spool.place / "supervisor.log")
        self._signals, self._signalled = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._ended = False
        self._work = Workload(spool, groups, self._log, now)

    def serve(self) -> None:
        """Look after all jobs until there is none for a while."""
        self._listen_to_signals()
        wake = self._open_wake()
        self._log("supervisor.started", pid=os.getpid())
        self._work.load()
        failpoint("local.loaded")
        busy_at = now()
        while not self._ended:
            self._pass()
            if not self._work.is_empty:
                busy_at = now()
            elif now() >= busy_at + self._idle:
                # Whoever finds the FIFO closed starts another; whoever found it open has left a wish.
                os.close(wake)
                if not self._spool.wishes.read():
                    break
                wake, busy_at = self._open_wake(), now()
            due = self._work.next_look(now())
            if self._work.is_empty:
                due = min(due, busy_at + self._idle)
            self._sleep(wake, due)
        self._log("supervisor.ended", pid=os.getpid())

    def _pass(self) -> None:
        self._work.take_wishes()
        self._work.look_after()
        self._work.start_what_fits()
        self._work.tell()

    def _sleep(self, wake: int, due: float) -> None:
        """Wait until something happens or is due; find out what."""
        poll = select.poll()
        watched = {run.descriptor: run for run in self._work.runs.values() if run.descriptor is not None}
        for descriptor in (wake, self._signals, *watched):
            poll.register(descriptor, select.POLLIN)
        seconds = min(max(due - now(), 0.0), _LONGEST_SLEEP)
        for descriptor, _ in poll.poll(seconds * 1000 + (1 if seconds else 0)):
            if descriptor in watched:
                watched[descriptor].stir()
            else:
                _drain(descriptor)
        self._reap()

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                self._work.ended(pid, status)

    def _open_wake(self) -> int:
        # Opened for both: with no writer left, a reader would be woken for ever.
        return os.open(self._spool.place / "wake", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def _listen_to_signals(self) -> None:
        signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        for number in (signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, lambda *_: None)

    def _end(self, *_: object) -> None:
        self._ended = True


def now() -> float:
    """Return seconds since boot, by which processes' births are told too; it never jumps, and outlives us."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def main(arguments: list[str]) -> int:
    """Supervise a home; return at once where another does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--idle", type=float, default=10.0, help="seconds without a job before it ends")
    parser.add_argument("--without-cgroups", action="store_true", help="make no cgroups, even where that is possible")
    asked = parser.parse_args(arguments)
    _start_afresh()
    spool = Spool(asked.home)
    spool.make()
    if not _take_lock(spool):
        return 0
    spool.clear()
    _adopt_orphans()
    cgroups.leave()
    parents = cgroups.Parents(None, None) if asked.without_cgroups else cgroups.find()
    Supervisor(spool, cgroups.Cgroups(parents, spool.place), idle=asked.idle).serve()
    return 0


def _start_afresh() -> None:
    """Undo what jobs must not inherit."""
    os.umask(0o077)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals():
        if number not in {signal.SIGPIPE, signal.SIGXFSZ} and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _take_lock(spool: Spool) -> bool:
    """Take the lock of the home for good; give up once somebody else is at work."""
    descriptor = os.open(spool.place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = now() + _LOCK_WITHIN
    while now() < until:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if spool.wake():
            return False
        time.sleep(0.02)  # it is just starting or just ending
    return False


def _adopt_orphans() -> None:
    """Become the parent of processes whose own has gone, so that their end is seen and they are reaped."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def _drain(descriptor: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(descriptor, 65536):
            pass


def run() -> NoReturn:
    """Supervise as the command line says."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
