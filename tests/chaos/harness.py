"""
Kill and freeze real processes of Bascule, again and again, while they bring jobs to a real Slurm.

Each round accepts some jobs, starts `bascule serve`, and ends it: at a named failpoint, or
at a moment of chance, by SIGKILL or by SIGSTOP. A frozen one is thawed while its successor drives;
its lock is taken away first, as no lock is safe for ever. Now and then slurmctld is
stopped, or killed, and started again. At the end everything may come to rest, and ``judge`` looks.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from bascule.bridge import Bridge, connect
from bascule.model import (
    Credentials,
    Job,
    JobSpec,
    Limits,
    Reason,
    Retry,
    Run,
    Target,
    TargetFiles,
    TargetRef,
    TargetSpec,
)
from bascule.platforms.embedded import Store, open_store
from bascule.ports import Selector
from bascule.runner import Pace
from bascule.wiring import SystemClock
from tests.chaos.judge import Verdict, judge, lines_of
from tests.testbed.slurm import SlurmCluster

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "CHAOS_SLURM_TOKEN"
FAILPOINTS = re.compile(r"failpoint\(f?\"((?:core|store)\.[^\"]*)\"\)")
ACTIONS = ("submit", "release", "find", "cancel")
NOTHING_MOVES = 60.0
LONGEST_REST = 600.0
SETTLES = 8.0
"""Longer than a request of a dead process may still be on its way: see MESSAGE_TIMEOUT."""
SLURM_CONF = "MessageTimeout=4"

Say = Callable[[str], None]


def failpoints() -> list[str]:
    """Return the failpoints of the core and the store, from the code itself."""
    found = []
    for path in sorted((ROOT / "src/bascule").rglob("*.py")):
        for name in FAILPOINTS.findall(path.read_text()):
            if name.endswith("}"):
                found += [f"{name.partition('{')[0]}{action}" for action in ACTIONS]
            else:
                found.append(name)
    return found


@dataclass(slots=True)
class Outcome:
    """What was done, and what came of it."""

    kills: int = 0
    freezes: int = 0
    restarts: int = 0
    at: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    end: str = ""
    verdict: Verdict = field(default_factory=Verdict)

    def words(self) -> str:
        """Say it in a few lines."""
        verdict = self.verdict
        lines = [
            f"{self.kills} kills, {self.freezes} of them of a process that had been frozen and replaced",
            f"{self.restarts} restarts of slurmctld; {self.jobs} jobs, {verdict.runs} attempts ran",
            "ended at: " + ", ".join(f"{name} {count}" for name, count in sorted(self.at.items())),
            self.end,
            f"faults: {len(verdict.faults)}; excused, as Slurm's own doing: {len(verdict.excused)}",
        ]
        return "\n".join([*lines, *verdict.faults, *(f"excused: {words}" for words in verdict.excused)])


class Chaos:
    """One home and one cluster."""

    def __init__(self, cluster: SlurmCluster, folder: Path, *, seed: int, kills_ctld: bool, say: Say = print) -> None:
        self._cluster = cluster
        self._home = folder / "home"
        self._luck = random.Random(seed)
        self._kills_ctld = kills_ctld
        self._say = say
        self._runs = cluster.jobs_dir / "runs.txt"
        self._points = failpoints()
        self.outcome = Outcome()
        os.environ[TOKEN] = cluster.token(lifespan=86_400)

    def run(self, kills: int, *, until: float | None = None) -> Outcome:
        """Kill so many times, or *until* that time of `time.monotonic`; let all come to rest, and judge."""
        self._runs.touch(0o666)
        self._runs.chmod(0o666)
        asyncio.run(self._prepare())
        while self.outcome.kills < kills and (until is None or time.monotonic() < until):
            asyncio.run(self._accept(self._luck.randint(1, 5)))
            if self._luck.random() < 0.12:
                self._restart_ctld()
            if self._luck.random() < 0.25:
                self._freeze_one()
            else:
                self._kill_one()
            if self.outcome.kills % 25 == 0:
                self._say(f"{self.outcome.kills} kills, {self.outcome.jobs} jobs")
        asyncio.run(self._come_to_rest())
        return self.outcome

    # What the processes work on

    async def _prepare(self) -> None:
        spec = TargetSpec(
            manager="slurm",
            url=self._cluster.url,
            credentials=Credentials(user=self._cluster.user, env=TOKEN),
            files=TargetFiles(root=str(self._cluster.jobs_dir)),
            options={"settleSeconds": SETTLES},
            limits=Limits(active_jobs=120),
        )
        async with open_store(self._home, SystemClock()) as store:
            await store.put_target(Target(namespace="default", name="hpc", uid="", spec=spec))

    async def _accept(self, count: int) -> None:
        async with open_store(self._home, SystemClock()) as store:
            for _ in range(count):
                self.outcome.jobs += 1
                await store.create(self._job(f"job-{self.outcome.jobs}"))
            if self._luck.random() < 0.2:
                await self._cancel_one(store)

    def _job(self, name: str) -> Job:
        say = f'echo "$SLURM_JOB_NAME $SLURM_JOB_ID %s" >>{self._runs}\n'
        script = f"#!/bin/sh\n{say % 'began'}sleep {self._luck.choice(['0', '0.3', '1', '3'])}\n{say % 'ended'}"
        return Job(
            "default",
            name,
            "",
            JobSpec(
                target=TargetRef("hpc"),
                run=Run(script=script),
                retry=Retry(limit=100, reasons=(Reason.LOST, Reason.NODE_FAILED)),
            ),
        )

    async def _cancel_one(self, store: Store) -> None:
        live = [job async for job in store.list(Selector(live=True))]
        if live:
            job = self._luck.choice(live)
            await store.change(replace(job, spec=replace(job.spec, cancel=True)))

    # Ends

    def _serve(self, failpoint: str = "") -> subprocess.Popen[bytes]:
        with (self._home.parent / "serve.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "bascule", "serve", "--no-http", "--home", str(self._home)],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": "src", "BASCULE_FAILPOINT": failpoint},
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def _point(self) -> tuple[str, str]:
        """Choose where, and at which visit."""
        name = self._luck.choice(self._points)
        often = 6 if name.startswith("store") or name == "core.saved" else 2
        return name, f"{name}:{self._luck.randint(1, often)}"

    def _kill_one(self) -> None:
        if self._luck.random() < 0.4:
            name, point = "chance", ""
        else:
            name, point = self._point()
        process = self._serve(point)
        # A point that nobody comes to is a moment of chance too.
        patience = 6.0 if point else self._luck.uniform(0.6, 2.5)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            name = "chance"
        if process.returncode != -signal.SIGKILL:
            raise AssertionError(f"`bascule serve` ended by itself with code {process.returncode}; see serve.log")
        self._count(name)

    def _freeze_one(self) -> None:
        """Freeze one, let another take over, and thaw the first while the other drives."""
        name, point = self._point() if self._luck.random() < 0.7 else ("chance", "")
        first = self._serve(f"{point}:stop" if point else "")
        if not point or not _is_stopped(first, within=4.0):
            name = "chance"
            time.sleep(0.0 if point else self._luck.uniform(0.6, 2.0))
            first.send_signal(signal.SIGSTOP)
            _is_stopped(first, within=2.0)
        (self._home / "driver.lock").unlink(missing_ok=True)
        second = self._serve()
        time.sleep(self._luck.uniform(0.8, 3.0))
        first.send_signal(signal.SIGCONT)
        time.sleep(self._luck.uniform(0.2, 2.0))
        for process in (first, second):
            process.kill()
            process.wait()
        self.outcome.freezes += 1
        self._count(f"{name} (frozen)")

    def _count(self, name: str) -> None:
        self.outcome.kills += 1
        self.outcome.at[name] += 1

    def _restart_ctld(self) -> None:
        """Take slurmctld away while a process works, and bring it back."""
        driver = self._serve()
        time.sleep(self._luck.uniform(0.5, 1.5))
        if self._kills_ctld and self._luck.random() < 0.5:
            self._cluster.kill_ctld()
        else:
            self._cluster.stop_ctld()
        if self._luck.random() < 0.5:
            driver.kill()
            driver.wait()
            self._count("slurmctld away")
            driver = self._serve()
        time.sleep(self._luck.uniform(0.0, 2.0))
        self._cluster.start_ctld()
        time.sleep(self._luck.uniform(0.0, 2.0))
        driver.kill()
        driver.wait()
        self.outcome.restarts += 1
        self._count("slurmctld back")

    # The end

    async def _come_to_rest(self) -> None:
        """Drive undisturbed until nothing moves any more, then let the judge look."""
        pace = Pace(first_sweep=2.0, sweep=3.0)
        async with connect(self._home, pace=pace) as bridge:
            jobs, since, quiet = [], time.monotonic(), 0
            latest = since + LONGEST_REST
            while (time.monotonic() - since < NOTHING_MOVES or _looks(bridge) < 3) and quiet < 2:
                if time.monotonic() > latest:
                    break
                await asyncio.sleep(3.5)
                now = [job async for job in bridge.store.list(Selector())]
                if [job.version for job in now] != [job.version for job in jobs]:
                    since = time.monotonic()
                jobs = now
                if any(job.is_live for job in jobs):
                    continue
                # Once more, so that the sweeper has passed since the last job ended.
                quiet += not await asyncio.to_thread(self._cluster.run, "squeue", "-h", "-o", "%A")
            records = await asyncio.to_thread(self._cluster.records)
            for connection in bridge.runner.connections.all() if bridge.runner else ():
                monitor = connection.monitor
                self.outcome.end = (
                    f"at the end {len(monitor)} jobs were watched, after {monitor.polls} looks;"
                    f" reachable: {connection.reachable} {connection.silence}"
                )
        self.outcome.verdict = judge(jobs, lines_of(self._runs.read_text()), records, forgetful=self._kills_ctld)


def _looks(bridge: Bridge) -> int:
    """Return how often all targets were looked at by the driver that is here."""
    connections = bridge.runner.connections.all() if bridge.runner else []
    return min((connection.monitor.polls for connection in connections), default=0)


def _is_stopped(process: subprocess.Popen[bytes], *, within: float) -> bool:
    """Wait until *process* is stopped; False where it is not by then."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        if Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
            return True
        time.sleep(0.02)
    return False


__all__ = ["Chaos", "Outcome", "failpoints"]
