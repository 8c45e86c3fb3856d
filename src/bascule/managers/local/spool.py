"""
The spool: files through which a manager and the supervisor of a home speak.

``jobs/KEY/order``        the order; the folder is made elsewhere, synced, and renamed into
                          place, which is the moment of acceptance and succeeds once
``jobs/KEY/environment``  what the job will find in it; removed when it is over
``jobs/KEY/state``        how far it has come; written by the supervisor only
``jobs/KEY/intent.N``     the state before launch N, synced before anything is started
``jobs/KEY/tasks/I``      the folder of task I of an array, made when its turn comes; the array's
                          own state only counts what stands in these
``submitters/NAME``       environment and umask of whoever submitted; used by jobs that name it
``wishes/KEY.WISH``       an empty file: look at KEY, and do WISH (new, cancel, hold, ...)
``news``                  its time moves whenever a state has changed
``wake``                  a FIFO: whoever can open it for writing knows that a supervisor lives
``capacity``              how much may be used at once
``lock``                  held by the supervisor as long as it lives

Nothing is read half-written: files are renamed into place, and what is torn all the
same (a damaged disk) is answered as None.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bascule.failpoints import failpoint
from bascule.managers.local.files import content_of, replace_file, sync_folder
from bascule.managers.local.records import (
    Capacity,
    Order,
    Outline,
    State,
    decode_capacity,
    decode_environment,
    decode_order,
    decode_outline,
    decode_state,
    encode,
    encode_environment,
)
from bascule.managers.local.tasks import order_of_task, parted
from bascule.managers.local.wishes import Wishes

_ABANDONED_AFTER = 3600.0


class Spool:
    """The spool of one home."""

    def __init__(self, home: Path) -> None:
        # The jobs' own markers hold this path, so that there may be but one form of it.
        self.place = Path(os.path.realpath(home)) / "local"
        self.jobs = self.place / "jobs"
        self.wishes = Wishes(self.place / "wishes")
        self.news = self.place / "news"
        self._incoming = self.place / "incoming"

    def make(self) -> None:
        """Make the folders, for this user only."""
        for folder in (self.place, self.jobs, self.wishes.place, self._incoming):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkfifo(self.place / "wake", 0o600)

    def folder(self, key: str) -> Path:
        """Return where the job, or the task, *key* is kept."""
        job, index = parted(key)
        return self.jobs / job if index is None else self.jobs / job / "tasks" / str(index)

    def make_folder(self, key: str) -> None:
        """Make the folder of a task, such that it stays; a job has its own since it was accepted."""
        folder = self.folder(key)
        if not folder.exists():
            folder.mkdir(mode=0o700)
            sync_folder(folder.parent)

    def accept(self, order: Order) -> bool:
        """
        Accept *order* durably; False where its key is there already.

        Once this returns, or whenever the folder is there, the job will be run by some
        supervisor, and by no two.
        """
        new = self._incoming / f"{order.key}.{secrets.token_hex(4)}"
        new.mkdir(mode=0o700)
        try:
            failpoint("local.submit.begun")
            if order.indices:
                (new / "tasks").mkdir(mode=0o700)
            replace_file(new / "environment", encode_environment(order.env), durable=True)
            replace_file(new / "order", encode(replace(order, env={})), durable=True)
            failpoint("local.submit.written")
            try:
                new.rename(self.folder(order.key))
            except OSError as taken:
                if taken.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                    raise
                return False
        finally:
            if new.exists():
                shutil.rmtree(new, ignore_errors=True)
        failpoint("local.submit.accepted")
        sync_folder(self.jobs)
        return True

    def wake(self) -> bool:
        """Wake the supervisor; False where there is none."""
        try:
            descriptor = os.open(self.place / "wake", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as nobody:
            if nobody.errno == errno.ENXIO:
                return False
            raise
        try:
            os.write(descriptor, b"!")
        except BlockingIOError:
            pass  # it is full: there is enough to wake it
        except BrokenPipeError:
            return False
        finally:
            os.close(descriptor)
        return True

    def tell(self) -> None:
        """Let observers know that some state has changed."""
        path = self.news
        try:
            before = path.stat().st_mtime_ns
        except FileNotFoundError:
            path.touch(mode=0o600)
            before = path.stat().st_mtime_ns
        moment = max(before + 1, time.time_ns())
        os.utime(path, ns=(moment, moment))

    def clear(self) -> None:
        """Remove what submits that were killed have left behind."""
        for left in self._incoming.iterdir():
            with contextlib.suppress(OSError):
                if left.stat().st_mtime < time.time() - _ABANDONED_AFTER:
                    shutil.rmtree(left)

    def kept(self) -> Iterator[str]:
        """Iterate over the keys of all jobs that are kept."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.jobs) as entries:
            yield from (entry.name for entry in entries)

    def begun_tasks(self, key: str) -> list[int]:
        """Return the tasks of an array that have had their turn, in order."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.jobs / key / "tasks") as entries:
            return sorted(int(entry.name) for entry in entries if entry.name.isdecimal())
        return []

    def outline(self, key: str) -> Outline | None:
        """Return the order of *key* without what is needed only to start it; None where there is none."""
        data = content_of(self.folder(key) / "order")
        with contextlib.suppress(msgspec.MsgspecError):
            return decode_outline(data)
        return None

    def order(self, key: str) -> Order | None:
        """Return the whole order of *key*; None where there is none, or its environment is gone."""
        job, index = parted(key)
        folder = self.folder(job)
        with contextlib.suppress(msgspec.MsgspecError):
            env = decode_environment(content_of(folder / "environment"))
            order = replace(decode_order(content_of(folder / "order")), env=env)
            return order if index is None else order_of_task(order, index, self.folder(key))
        return None

    def state(self, key: str) -> State | None:
        """Return how far *key* has come; None where no supervisor has said so yet, or it cannot be read."""
        return self._read_state(self.folder(key) / "state")

    def progress(self, key: str) -> State | None:
        """Return how far *key* has come at least, whatever was written last before a kill or a loss of power."""
        state = self.state(key)
        if state is not None and state.is_over:
            return state
        launch = state.launch if state is not None else 0
        while (intended := self._intended(key, launch + 1)) is not None:
            launch += 1
            state = intended
        return state

    def _intended(self, key: str, launch: int) -> State | None:
        """Return the state before a launch; None where that never was, since nothing starts before it is synced."""
        folder = self.folder(key)
        state = self._read_state(folder / f"intent.{launch}")
        if state is None and (folder / f"begun.{launch}").exists():
            return State("starting", 0.0, launch=launch)  # damaged since
        return state

    def save(self, key: str, state: State, *, durable: bool) -> None:
        """Write how far *key* has come."""
        replace_file(self.folder(key) / "state", encode(state), durable=durable)

    def save_intent(self, key: str, state: State) -> None:
        """Write down durably that a job is about to be started."""
        replace_file(self.folder(key) / f"intent.{state.launch}", encode(state), durable=True)

    def _read_state(self, path: Path) -> State | None:
        with contextlib.suppress(msgspec.MsgspecError):
            return decode_state(content_of(path))
        return None

    def capacity(self) -> Capacity | None:
        """Return how much may be used at once; None where nobody has said."""
        data = content_of(self.place / "capacity")
        with contextlib.suppress(msgspec.MsgspecError):
            return decode_capacity(data)
        return None

    def save_capacity(self, capacity: Capacity) -> None:
        """Say how much may be used at once."""
        if self.capacity() != capacity:
            replace_file(self.place / "capacity", encode(capacity), durable=False)

    def scrub(self, key: str) -> None:
        """Forget the environment of a job that is over: it may hold secrets."""
        (self.folder(key) / "environment").unlink(missing_ok=True)

    def forget(self, key: str) -> None:
        """Remove all that is kept of *key*; it vanishes at once."""
        gone = self._incoming / f"{key}.{secrets.token_hex(4)}"
        with contextlib.suppress(FileNotFoundError):
            self.folder(key).rename(gone)
            shutil.rmtree(gone)
