"""
Start one job: everything that can be found wrong beforehand is, and said in words.

Output files are opened here and handed down, so that what is written to is what was
named, whatever its name. The program gets an empty stdin and no descriptor but these.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bascule.managers.local.files import replace_file
from bascule.managers.local.processes import process
from bascule.managers.local.records import Birth, Order

_PASSING = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT}


class StartFailed(Exception):
    """The job cannot be started, for a reason that will not go away."""


class TryLater(Exception):
    """The machine cannot start anything now; nothing was started."""


class Launch(NamedTuple):
    """
    One try to start a job: its number, on which boot, and what it was given.

    *folder* is its own, *home* that of its array, where it is a task of one.
    """

    number: int
    boot: str
    folder: Path
    home: Path
    wrapper: Path
    gpus: str | None = None
    groups: tuple[str, ...] = ()


def start(order: Order, launch: Launch) -> Birth:
    """Start the wrapper of *order* and return who it is."""
    kept = os.umask(order.umask)
    try:
        with ExitStack() as open_files:
            _enter(order, launch)
            output = _opened(order, order.output, "output", open_files)
            error = _opened(order, order.error, "error", open_files)
            program = _program(order, launch)
            return _spawn(order, launch, program, output, error)
    except OSError as trouble:
        words = f"{trouble.strerror}: `{trouble.filename}`" if trouble.filename else str(trouble.strerror)
        raise (TryLater if trouble.errno in _PASSING else StartFailed)(words) from trouble
    finally:
        os.umask(kept)


def _enter(order: Order, launch: Launch) -> None:
    folder = Path(order.workdir)
    if folder == launch.home / "work":
        folder.mkdir(exist_ok=True)
    if not folder.exists():
        raise StartFailed(f"there is no working directory `{folder}`")
    if not folder.is_dir():
        raise StartFailed(f"the working directory `{folder}` is no directory")
    if not os.access(folder, os.X_OK):
        raise StartFailed(f"the working directory `{folder}` may not be entered")


def _opened(order: Order, path: str, what: str, open_files: ExitStack) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    if what not in order.appends:
        flags |= os.O_TRUNC
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno in _PASSING:
            raise
        why = "nobody reads from it" if error.errno == errno.ENXIO else error.strerror
        raise StartFailed(f"cannot write its {what} to `{path}`: {why}") from error
    open_files.callback(os.close, descriptor)
    # Non-blocking was for a FIFO without a reader; the job must not see it.
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    return descriptor


def _program(order: Order, launch: Launch) -> tuple[bytes, ...]:
    if order.script is not None:
        script = launch.home / "script"
        _put(script, order.script)
        _check_interpreter(script, order.script[:256])
        return (os.fsencode(script), *order.program)
    name, *rest = order.program
    if b"/" in name:
        path = Path(order.workdir, os.fsdecode(name))
        if not path.exists():
            raise StartFailed(f"there is no program `{path}`")
        if path.is_dir() or not os.access(path, os.X_OK):
            raise StartFailed(f"`{path}` may not be executed; try `chmod +x`")
        if os.access(path, os.R_OK):
            with path.open("rb") as file:
                _check_interpreter(path, file.read(256))
        return (os.fsencode(path), *rest)
    found = shutil.which(os.fsdecode(name), path=os.fsdecode(order.env.get(b"PATH", os.defpath.encode())))
    if found is None:
        raise StartFailed(f"there is no program `{os.fsdecode(name)}` on the job's PATH")
    return (os.fsencode(Path(order.workdir, found)), *rest)


def _put(script: Path, data: bytes) -> None:
    # Another task of the same array may be about to read it: it is replaced as a whole, and only if need be.
    if not script.exists() or script.stat().st_size != len(data):
        replace_file(script, data, durable=False)
    script.chmod(0o700)


def _check_interpreter(script: Path, head: bytes) -> None:
    """Say what the kernel would not: that it is the program after ``#!`` that is not there."""
    if not head.startswith(b"#!"):
        return
    words = head[2:].partition(b"\n")[0].split()
    interpreter = os.fsdecode(words[0]) if words else ""
    if head[2:].partition(b"\n")[0].endswith(b"\r"):
        raise StartFailed(f"the first line of `{script}` ends in CR LF; save it with Unix line ends")
    if not interpreter or not os.access(interpreter, os.X_OK):
        raise StartFailed(f"the script names `{interpreter}` to run it, which is not there or not executable")


def _spawn(order: Order, launch: Launch, program: tuple[bytes, ...], output: int, error: int) -> Birth:
    gpus = {} if launch.gpus is None else {b"CUDA_VISIBLE_DEVICES": os.fsencode(launch.gpus)}
    head = ("/bin/sh", str(launch.wrapper), str(launch.folder), str(launch.number), launch.boot)
    members = (f"{group}/cgroup.procs" for group in launch.groups)
    child = subprocess.Popen(
        [*map(os.fsencode, (*head, *members, "--")), *program],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=error,
        cwd=order.workdir,
        env=order.env | gpus,
        start_new_session=True,
    )
    # All children are reaped in one place, the supervisor's; this object has nothing to wait for.
    child.returncode = 0
    found = process(child.pid)
    return Birth(child.pid, 0) if found is None else found.birth
