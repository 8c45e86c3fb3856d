"""
Cgroups, where this user may make them: a memory limit, and a job that nobody escapes.

Never required. A job gets a group in the tree that limits memory (v1, or v2 where the
controller is handed down) and one in the v2 tree, where a whole group can be killed at
once; that may be one and the same. The program enters them by itself, before it starts.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

PREFIX = "bascule-"
_TRIAL_SECONDS = 5.0
_KEEP_EMPTY = 600.0
_KEEP_KILLS = 86400.0


class Parents(NamedTuple):
    """The groups below which groups for jobs can be made; None where there is none."""

    memory: Path | None
    unified: Path | None


class Cgroups:
    """The groups of one home's jobs."""

    def __init__(self, parents: Parents, home: Path) -> None:
        self._parents = parents
        self._ours = hashlib.sha256(os.fsencode(home)).hexdigest()[:8]

    def make(self, key: str, memory: int) -> tuple[str, ...]:
        """
        Make the groups of a job, limited to *memory* bytes unless that is 0; fewer where it fails.

        One without a limit still counts what the kernel kills in it for want of memory.
        """
        made = []
        for parent in sorted({parent for parent in self._parents if parent is not None}):
            group = parent / f"{PREFIX}{self._ours}-{key}"
            try:
                group.mkdir(exist_ok=True)
                if parent == self._parents.memory and memory:
                    _limit(group, memory)
            except OSError:
                remove((str(group),))
                continue
            made.append(str(group))
        return tuple(made)

    def sweep(self, keep: Collection[str] = ()) -> None:
        """
        Remove this home's groups but those to *keep*, and empty ones that other homes have left behind.

        Theirs may be just about to be entered while they are young, and may be asked for memory kills later.
        """
        remove(tuple(self.strays().difference(keep)))
        for group in sorted({group for parent in self._parents if parent for group in parent.glob(f"{PREFIX}*-*")}):
            with contextlib.suppress(OSError):
                age = time.time() - group.stat().st_mtime
                if age > _KEEP_KILLS or (age > _KEEP_EMPTY and not memory_kills((str(group),))):
                    group.rmdir()  # refused by the kernel while anybody is in it

    def strays(self) -> set[str]:
        """Return all groups that were made for this home."""
        found: set[str] = set()
        for parent in self._parents:
            if parent is not None:
                found.update(map(str, parent.glob(f"{PREFIX}{self._ours}-*")))
        return found


def is_populated(groups: Iterable[str]) -> bool:
    """Tell whether the kernel knows of a living process in one of the groups."""
    return any(
        "populated 1" in _lines(Path(group, "cgroup.events")) or _lines(Path(group, "tasks")) != [] for group in groups
    )


def kill(groups: tuple[str, ...]) -> None:
    """Kill all processes of the groups at once, where the kernel can; nobody forks faster than this."""
    for group in groups:
        with contextlib.suppress(OSError):
            descriptor = os.open(Path(group, "cgroup.kill"), os.O_WRONLY)
            try:
                os.write(descriptor, b"1")
            finally:
                os.close(descriptor)


def remove(groups: tuple[str, ...]) -> bool:
    """Remove the groups; tell whether none is left."""
    for group in groups:
        with contextlib.suppress(OSError):
            Path(group).rmdir()
    return not any(Path(group).exists() for group in groups)


def counts_kills(group: str) -> bool:
    """Tell whether memory kills in *group* are counted there."""
    return any(Path(group, name).exists() for name in ("memory.oom_control", "memory.events"))


def memory_kills(groups: tuple[str, ...]) -> int:
    """Return how often the kernel has killed in the groups for want of memory."""
    return sum(
        int(line.split()[1])
        for group in groups
        for name in ("memory.oom_control", "memory.events")
        for line in _lines(Path(group, name))
        if line.startswith("oom_kill ")
    )


def find() -> Parents:
    """Look where groups can be made, by making one and moving a process there."""
    memory = unified = None
    for mount, kind in _mounts():
        own = _own_group(mount, kind)
        if own is None:
            continue
        if kind == "memory":
            memory = own if _works(own, "memory.limit_in_bytes") else memory
        else:
            unified = own if _works(own, "cgroup.kill") else None
            above = (group for group in (own, *own.parents) if group.is_relative_to(mount))
            limiting = next((group for group in above if _works(group, "memory.max")), None)
            memory = memory or limiting
            unified = unified or limiting
    return Parents(memory, unified)


def leave() -> None:
    """Leave the group of a job, where this process was started inside one: it must not end with it."""
    for mount, kind in _mounts():
        own = _own_group(mount, kind)
        while own is not None and own.name.startswith(PREFIX):
            own = own.parent
            with contextlib.suppress(OSError):
                (own / "cgroup.procs").write_text("0")


def _mounts() -> list[tuple[Path, str]]:
    found = []
    for line in _lines(Path("/proc/self/mountinfo")):
        place, _, source = line.partition(" - ")
        kind, _, options = source.split(" ", 2)
        if kind == "cgroup2":
            found.append((Path(place.split()[4]), ""))
        elif kind == "cgroup" and "memory" in options.split(","):
            found.append((Path(place.split()[4]), "memory"))
    return found


def _own_group(mount: Path, kind: str) -> Path | None:
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, path = line.split(":", 2)
        if kind in controllers.split(","):
            own = mount / path.lstrip("/")
            return own if own.is_dir() else None
    return None


def _works(parent: Path, needed: str) -> bool:
    trial = parent / f"{PREFIX}trial-{os.getpid()}"
    try:
        trial.mkdir()
    except OSError:
        return False
    try:
        if not (trial / needed).exists():
            return False
        enter = ["/bin/sh", "-c", 'echo 0 >"$1"', "sh", str(trial / "cgroup.procs")]
        done = subprocess.run(enter, stderr=subprocess.DEVNULL, timeout=_TRIAL_SECONDS, check=False)
        return done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        remove((str(trial),))


def _limit(group: Path, memory: int) -> None:
    if (group / "memory.max").exists():
        (group / "memory.max").write_text(str(memory))
        with contextlib.suppress(OSError):
            (group / "memory.swap.max").write_text("0")
        return
    (group / "memory.limit_in_bytes").write_text(str(memory))
    with contextlib.suppress(OSError):
        (group / "memory.memsw.limit_in_bytes").write_text(str(memory))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
