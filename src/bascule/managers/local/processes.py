"""
Processes: who lives, who belongs to which job, and signals that reach the right one.

A job's processes are found in three ways, since each can be evaded alone: by the session
of its wrapper, by its cgroups, and by a marker in their environment, which also those
bear that detached themselves. What they have started since is found by its parent.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from bascule.managers.local.records import Birth

MARKER = "BASCULE_FOLDER"
"""The environment variable that all of a job's processes inherit: the job's folder, unlike any other job's."""
_MARK = b"\0" + MARKER.encode() + b"="
_LARGEST_ENVIRONMENT = 8 * 1024 * 1024
_TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """One line of the process table."""

    birth: Birth
    parent: int
    group: int
    session: int
    state: str

    @property
    def is_dead(self) -> bool:
        """Tell whether it only waits for its parent to look."""
        return self.state in "ZX"


class Marks(NamedTuple):
    """By what a job's processes are known; *wrapper* None where its session may be another's by now."""

    folder: str
    wrapper: Birth | None = None
    groups: tuple[str, ...] = ()


def boot() -> str:
    """Name this run of the machine, or of the container; process ids mean nothing beyond it."""
    machine = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{machine}/{Path('/proc/self/ns/pid').stat().st_ino}"


def seconds_since(birth: Birth, now: float) -> float:
    """Return how long a process has lived at *now*, in seconds since boot."""
    return now - birth.start / _TICKS


def process(pid: int) -> Process | None:
    """Look one process up; None where there is none."""
    try:
        line = _head(f"/proc/{pid}/stat", 1024)
    except OSError:
        return None
    fields = line[line.rindex(b")") + 2 :].split()
    return Process(Birth(pid, int(fields[19])), int(fields[1]), int(fields[2]), int(fields[3]), chr(fields[0][0]))


def lives(birth: Birth) -> bool:
    """Tell whether this very process still lives."""
    found = process(birth.pid)
    return found is not None and found.birth == birth and not found.is_dead


def relatives(jobs: Mapping[str, Marks]) -> dict[str, list[Process]]:
    """Return the living processes of each job, its wrapper left out, in one walk over the process table."""
    everyone = [found for found in map(process, _pids()) if found is not None]
    births = {one.birth.pid: one.birth for one in everyone}
    sessions = {
        marks.wrapper.pid: key
        for key, marks in jobs.items()
        # The leader's id is not given to another while its session has members.
        if marks.wrapper is not None and births.get(marks.wrapper.pid, marks.wrapper) == marks.wrapper
    }
    owners = {pid: key for pid, key in sessions.items() if pid in births} | _grouped(jobs)
    folders = {os.fsencode(marks.folder): key for key, marks in jobs.items()}
    for one in everyone:
        owner = sessions.get(one.session) or folders.get(_marker_of(one.birth.pid))
        if owner is not None:
            owners.setdefault(one.birth.pid, owner)
    children: dict[int, list[Process]] = {}
    for one in everyone:
        children.setdefault(one.parent, []).append(one)
    todo = list(owners)
    while todo:
        pid = todo.pop()
        for child in children.get(pid, ()):
            if child.birth.pid not in owners:
                owners[child.birth.pid] = owners[pid]
                todo.append(child.birth.pid)
    found: dict[str, list[Process]] = {key: [] for key in jobs}
    for one in everyone:
        owner = owners.get(one.birth.pid)
        if owner is not None and not one.is_dead and one.birth != jobs[owner].wrapper:
            found[owner].append(one)
    return found


def catches(birth: Birth, number: int) -> bool:
    """Tell whether a process has a handler of its own for a signal."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{birth.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def send(births: Iterable[Birth], *numbers: int) -> None:
    """Send signals to processes, and to no others that bear their ids by now."""
    for birth in births:
        descriptor = watch(birth)
        if descriptor is None:
            if lives(birth):  # an old kernel; a process may still go in between
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    for number in numbers:
                        os.kill(birth.pid, number)
            continue
        try:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                for number in numbers:
                    signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def watch(birth: Birth) -> int | None:
    """Return a descriptor that becomes readable when the process ends; None where it is gone, or the kernel too old."""
    try:
        descriptor = os.pidfd_open(birth.pid)
    except OSError:
        return None
    if lives(birth):
        return descriptor
    os.close(descriptor)
    return None


def signal_number(name: str) -> int:
    """Return the number of the signal ``USR1``; raise `KeyError` where there is none."""
    return signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"]


def memory_kills() -> int:
    """Return how often the kernel has killed for want of memory, on the whole machine."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _pids() -> list[int]:
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdigit()]


def _grouped(jobs: Mapping[str, Marks]) -> dict[int, str]:
    owners = {}
    for key, marks in jobs.items():
        for group in marks.groups:
            with contextlib.suppress(OSError):
                owners.update(dict.fromkeys(map(int, Path(group, "cgroup.procs").read_text().split()), key))
    return owners


def _marker_of(pid: int) -> bytes:
    try:
        data = b"\0" + _head(f"/proc/{pid}/environ", _LARGEST_ENVIRONMENT)
    except OSError:
        return b""
    begin = data.find(_MARK)
    if begin < 0:
        return b""
    begin += len(_MARK)
    end = data.find(b"\0", begin)
    return data[begin:end] if end >= 0 else b""


def _head(path: str, most: int) -> bytes:
    # Plain calls: this is done for every process of the machine.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while len(data) < most and (more := os.read(descriptor, most - len(data))):
            data += more
        return data
    finally:
        os.close(descriptor)
