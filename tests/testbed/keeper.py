"""
Keep one test server's processes and mounts, and let nothing of them outlive its owner.

Run as a program: ``keeper.py PLAN.json``. It opens process, mount, host name and IPC
namespaces of their own, prepares the root folders named in the plan, prints the process id
of the namespaces' first process (``nsenter --target`` it; or 0 and what went wrong), and
stays until its standard input closes. Then the kernel ends every process inside at once, the mounts go with them,
and the run's folder is removed. The owner holds the other end of that pipe, so all this
also happens when the owner is killed. ``runs`` is the owner's side.

Stands alone, by the standard library only: it must work whatever happens to the tests.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

NEWNS, NEWUTS, NEWIPC, NEWPID = 0x00020000, 0x04000000, 0x08000000, 0x20000000
RDONLY, REMOUNT, BIND, REC, PRIVATE = 1, 32, 4096, 16384, 1 << 18
SET_PDEATHSIG = 1
HOSTNAME = "lab"
CGROUPS = Path("/sys/fs/cgroup")
MEMORY = CGROUPS / "memory"
"""Of the kernel's first kind of cgroups, the only one that all servers can be given a part of by a mount."""

libc = ctypes.CDLL(None, use_errno=True)


def main() -> int:
    plan = json.loads(Path(sys.argv[1]).read_text())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner, who then lets go of us
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        return keep(plan)
    finally:
        clear_up(Path(plan["folder"]))


def keep(plan: dict[str, Any]) -> int:
    check(libc.unshare(NEWPID), "unshare")
    is_ready, tell_ready = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(is_ready)
        be_first(plan, tell_ready)
    os.close(tell_ready)
    try:
        answer = os.read(is_ready, 4096).decode()
        if answer != "ready":
            print(f"0 {answer}", flush=True)
            return 1
        print(first, flush=True)
        wait_for_end_of_input(or_death_of=first)
    finally:
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)  # returns when the last process inside is gone
    return 0


def clear_up(folder: Path) -> None:
    """Remove what a run leaves when its last process is gone: its cgroups and its folder."""
    tops = (CGROUPS / folder.name, *CGROUPS.glob(f"*/{folder.name}"))
    for place in (place for top in tops for place in (*sorted(top.rglob("*/"), reverse=True), top)):
        for _ in range(50):
            try:
                place.rmdir()
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.05)  # busy: the kernel is not yet done with the dead
    shutil.rmtree(folder, ignore_errors=True)


def memory_cgroup(folder: Path) -> Path:
    return MEMORY / folder.name


def wait_for_end_of_input(*, or_death_of: int) -> None:
    death = os.pidfd_open(or_death_of)
    while True:
        ready, _, _ = select.select([0, death], [], [])
        if death in ready or not os.read(0, 4096):
            return


def be_first(plan: dict[str, Any], tell_ready: int) -> NoReturn:
    """Prepare the namespaces, then only reap: daemons that detach themselves become ours."""
    try:
        libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        check(libc.unshare(NEWNS | NEWUTS | NEWIPC), "unshare")
        mount(None, "/", None, REC | PRIVATE)
        socket.sethostname(HOSTNAME)
        for root in plan["roots"]:
            prepare(root, plan["binds"])
            if plan["limits_memory"]:
                part = memory_cgroup(Path(plan["folder"]))
                part.mkdir(exist_ok=True)
                mount(str(part), f"{root}{MEMORY}", None, BIND)
        os.write(tell_ready, b"ready")
        os.close(tell_ready)
        while True:
            try:
                os.wait()
            except ChildProcessError:
                time.sleep(0.1)
    except BaseException as error:  # noqa: BLE001
        os.write(tell_ready, str(error).encode())
        os._exit(1)


def prepare(root: str, binds: dict[str, str]) -> None:
    """Mount *root* on itself read-only, with the few places in it that may change."""
    mount(root, root, None, BIND)
    mount(None, root, None, BIND | REMOUNT | RDONLY)
    mount("proc", f"{root}/proc", "proc", 0)
    mount("/sys", f"{root}/sys", None, BIND | REC)
    mount("/dev", f"{root}/dev", None, BIND | REC)
    for place in ("tmp", "run", "var/tmp", "dev/shm"):
        mount("tmpfs", f"{root}/{place}", "tmpfs", 0, "mode=1777,size=512m")
    for inside, outside in binds.items():
        Path(f"{root}{inside}").mkdir(parents=True, exist_ok=True)
        mount(outside, f"{root}{inside}", None, BIND)


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if part is None else part.encode() for part in (source, target, kind, data)]
    check(libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), f"mount {target}")


def check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    sys.exit(main())
