"""
Run folders: where one running test server keeps its files, and how it is found again.

A folder's name carries its owner's process id and start time, and the folder holds those of
its keeper. Owner dead means abandoned: `sweep` ends the keeper that it can prove to be ours
(same boot, same id, same start time, in a folder that belongs to us) and removes the folder.
"""

import contextlib
import json
import os
import re
import secrets
import select
import signal
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.testbed.keeper import MEMORY, clear_up
from tests.testbed.machine import TestbedUnavailable

HOME = Path("/tmp")
"""Short (socket paths are limited to 108 bytes) and open to the jobs' user, unlike a home folder."""

PREFIX = "bascule-testbed"
KEEPER = Path(__file__).with_name("keeper.py")


@dataclass(frozen=True, slots=True)
class Run:
    """A server's namespaces: enter them with `enter`, end all in them with `stop`."""

    folder: Path
    keeper: subprocess.Popen[str]
    first: int

    def enter(self, root: Path, *argv: str, user: str = "") -> list[str]:
        """Return the command line that runs *argv* inside, with *root* as its root folder."""
        if self.keeper.poll() is not None:
            raise RuntimeError(f"the test server in {self.folder} is gone")  # its id may be another's by now
        spaces = ("--mount", "--uts", "--ipc", "--pid")
        become = (f"--userspec={user}",) if user else ()
        return ["nsenter", f"--target={self.first}", *spaces, "--", "chroot", *become, str(root), *argv]

    def stop(self) -> None:
        if self.keeper.stdin is not None:
            with contextlib.suppress(OSError):
                self.keeper.stdin.close()
        try:
            self.keeper.wait(30)
        except subprocess.TimeoutExpired:
            self.keeper.kill()  # the first process inside dies with it, and all others with that
            self.keeper.wait()
        if self.keeper.stdout is not None:
            self.keeper.stdout.close()
        clear_up(self.folder)


def new_folder() -> Path:
    owner = os.getpid()
    folder = HOME / f"{PREFIX}-{owner}-{start_time(owner)}-{secrets.token_hex(3)}"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    return folder


def keep(folder: Path, roots: list[Path], binds: dict[str, str], *, limits_memory: bool = False) -> Run:
    """
    Open namespaces for the server in *folder*; each of *roots* gets *binds* (inside: outside).

    One that *limits_memory* finds a part of the machine's memory cgroups where it expects the whole.
    """
    if limits_memory and not MEMORY.is_dir():
        raise TestbedUnavailable(f"there are no memory cgroups of version 1 in {MEMORY}")
    plan = {
        "folder": str(folder),
        "roots": [str(root) for root in roots],
        "binds": {str(folder): str(folder), **binds},
        "limits_memory": limits_memory,
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    with (folder / "keeper.log").open("w") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), str(folder / "plan.json")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd="/",
            start_new_session=True,
        )
    record = {"pid": keeper.pid, "start": start_time(keeper.pid), "boot": boot_id()}
    (folder / "keeper.json").write_text(json.dumps(record))
    assert keeper.stdout is not None
    first, _, why = keeper.stdout.readline().strip().partition(" ")
    run = Run(folder, keeper, int(first or 0))
    if not run.first:
        run.stop()
        raise TestbedUnavailable(f"namespaces for a test server could not be made: {why or 'no reason given'}")
    return run


def sweep() -> list[Path]:
    """Remove what test runs that were killed have left; return the folders removed."""
    swept = []
    for folder in HOME.glob(f"{PREFIX}-*"):
        named = re.fullmatch(rf"{PREFIX}-(\d+)-(\d+)-[0-9a-f]+", folder.name)
        if named is None or not _is_our_folder(folder):
            continue
        if start_time(int(named[1])) == int(named[2]):
            continue  # its owner lives
        _end_keeper(folder)
        clear_up(folder)
        swept.append(folder)
    return swept


def _is_our_folder(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False  # another test run sweeps too
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _end_keeper(folder: Path) -> None:
    try:
        record = json.loads((folder / "keeper.json").read_text())
        handle = os.pidfd_open(record["pid"])
    except (OSError, ValueError):
        return  # no record, or no such process
    try:
        # The handle is held while we look: the process we look at is the one we signal.
        if record["boot"] == boot_id() and record["start"] == start_time(record["pid"]):
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, number)
                if select.select([handle], [], [], 10)[0]:
                    return
    finally:
        os.close(handle)


def start_time(pid: int) -> int:
    """Return when process *pid* started, in clock ticks since boot; 0 if there is none."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if after_name[0] in {"Z", "X"} else int(after_name[19])


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
