"""
A home for jobs of this machine, in which tests submit, wait, kill, and leave nothing behind.
"""

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from bascule.managers.local.cgroups import Cgroups, find
from bascule.managers.local.manager import LocalManager
from bascule.managers.local.processes import Marks, relatives
from bascule.managers.local.spool import Spool
from bascule.model import Job, JobSpec, Phase, Report, Run, TargetRef, key_for
from bascule.ports import Order

FINAL = (Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED)
PATIENCE = 20.0
INSTALLATION = "tests2"


class Home:
    """One home and its manager, with hands that reach behind it."""

    def __init__(self, folder: Path, **options) -> None:
        self.folder = folder
        self.options = {"cpus": 4, "memory": "4Gi", "gpus": 2, "grace": "300ms", **options}
        self.manager = LocalManager(folder, self.options, idle=5.0)
        self.spool = Spool(folder)
        self.work = folder / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.numbers = 0

    def again(self, **options) -> LocalManager:
        """Return the manager that another process would make of this home."""
        self.manager = LocalManager(self.folder, self.options | options, idle=5.0)
        return self.manager

    def order(self, script="", *, name="job", run=None, held=False, secrets=None, **spec) -> Order:
        """Return an order for a script of `sh`, that runs in the folder `work`."""
        self.numbers += 1
        uid = f"{name}-{self.numbers}"
        run = run or Run(script=f"#!/bin/sh\n{script}\n")
        spec = {"working_directory": str(self.work), **spec}
        job = Job("default", name, uid, JobSpec(TargetRef("local"), run=run, **spec))
        return Order(job, key_for(name, installation=INSTALLATION, uid=uid, attempt=1), held, secrets or {})

    async def submit(self, script="", **more):
        """Submit a script; return its handle."""
        return await self.manager.submit(self.order(script, **more))

    async def run(self, script="", **more) -> Report:
        """Submit a script and return how it ended."""
        return await self.end_of(await self.submit(script, **more))

    async def see(self, handle) -> Report:
        """Return what is said of a job now."""
        return (await self.manager.observe([handle])).answers[handle.id]

    async def becomes(self, handle, *phases, within=PATIENCE) -> Report:
        """Wait until a job is in one of *phases*."""
        return await self.until(lambda report: report.phase in phases, handle, within=within)

    async def end_of(self, handle, within=PATIENCE) -> Report:
        """Wait until a job is over."""
        return await self.becomes(handle, *FINAL, within=within)

    async def until(self, is_so, handle, within=PATIENCE) -> Report:
        """Wait until something is so of a job's report."""
        ends = time.monotonic() + within
        answer = None
        while time.monotonic() < ends:
            answer = await self.see(handle)
            if isinstance(answer, Report) and is_so(answer):
                return answer
            await asyncio.sleep(0.02)
        raise AssertionError(f"not within {within} s: {answer}\n{self.log()}")

    async def wrote(self, name, text="", within=PATIENCE) -> str:
        """Wait until a job has written the file *name*, with *text* in it; return the whole."""
        return await wait_for(lambda: (found := self.read(name)) and text in found and found, within=within)

    def read(self, name) -> str:
        """Return what lies in a file of the folder `work`."""
        with suppress(FileNotFoundError):
            return (self.work / name).read_text()
        return ""

    def log(self) -> str:
        """Return what the supervisor said."""
        with suppress(FileNotFoundError):
            return (self.spool.place / "supervisor.log").read_text()
        return ""

    def supervisors(self) -> list[int]:
        """Return the supervisors of this home."""
        return [pid for pid, line in commands() if b"local.supervisor" in line and os.fsencode(self.folder) in line]

    async def the_supervisor(self) -> int:
        """Return the one supervisor; one that came too late goes by itself."""
        await wait_for(lambda: len(self.supervisors()) == 1)
        return self.supervisors()[0]

    def kill_supervisor(self) -> None:
        """Kill the supervisor, as a crash would."""
        for pid in self.supervisors():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def family(self, handle) -> list[int]:
        """Return the processes of a job, its wrapper included."""
        return [one.birth.pid for one in relatives({"it": Marks(str(self.spool.folder(handle.id)))})["it"]]

    def wrapper(self, handle) -> int:
        """Return the process id of a job's wrapper."""
        return self.spool.state(handle.id).wrapper.pid

    def strays(self) -> list[int]:
        """Return all processes that any job of this home has left."""
        marks = {key: Marks(str(self.spool.folder(key))) for key in self.spool.kept()}
        return [one.birth.pid for family in relatives(marks).values() for one in family]

    async def close(self) -> None:
        """End everything; fail if a job that is over has left something."""
        over = [key for key in self.spool.kept() if (state := self.spool.state(key)) and state.is_over]
        left = relatives({key: Marks(str(self.spool.folder(key))) for key in over})
        self.kill_supervisor()
        await wait_for(lambda: not self.supervisors())
        for pid in self.strays():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await wait_for(lambda: not self.strays())
        groups = Cgroups(find(), self.spool.place).strays()
        await wait_for(lambda: all(gone(group) for group in groups))

        assert not [key for key, family in left.items() if family], "left processes behind"
        assert not [group for group in groups if group.endswith(tuple(over))], "left cgroups behind"


def gone(group) -> bool:
    """Remove a cgroup, and tell whether that worked."""
    with suppress(FileNotFoundError):
        try:
            Path(group).rmdir()
        except OSError:
            return False
    return True


def commands():
    """Return the process table as pairs of id and command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                yield int(entry.name), (entry / "cmdline").read_bytes()


async def wait_for(is_so, within=PATIENCE):
    """Wait until *is_so* returns something true, and return it."""
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        if found := is_so():
            return found
        await asyncio.sleep(0.02)
    raise AssertionError(f"not so within {within} s")


def state_of(pid) -> str:
    """Return the letter of a process's state; X where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def alive(pid) -> bool:
    """Tell whether a process lives and is no zombie."""
    return state_of(pid) not in "ZX"
