"""The worlds in which the contract of managers is kept: each version of the fake slurmrestd, over real HTTP."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from bascule.clients.asking import Request
from bascule.managers.slurm import connect
from bascule.model import Credentials, Network, Run, Target, TargetFiles, TargetSpec
from bascule.ports import Abilities
from bascule.wiring import OWN_MACHINE
from tests.contracts.manager_world import ManagerWorld
from tests.fakes.slurmrestd.cluster import US, FakeCluster
from tests.fakes.slurmrestd.server import TOKEN, FakeSlurmrestd
from tests.managers.hand_clock import HandClock

TOKEN_NAME = "BASCULE_TEST_SLURM_TOKEN"
NOBODY = "http://127.0.0.1:1"
NO = b'{"meta": {}, "errors": [{"error_number": 2000, "error_code": 2000, "description": "Invalid partition name specified"}]}'
LONGEST = 120.0


class Place:
    home = Path("/nowhere")
    policy = OWN_MACHINE.policy

    def __init__(self, clock: object) -> None:
        self.clock = clock

    async def secret(self, namespace: str, name: str, key: str) -> str:
        raise AssertionError("no secret is needed here")


def target_at(
    url: str, *, user: str = US, root: Path | None = None, submission: str = "Held", **options: object
) -> Target:
    spec = TargetSpec(
        "slurm",
        url=url,
        credentials=Credentials(user=user, env=TOKEN_NAME),
        network=Network(),
        options=options,
        submission=submission,
        files=TargetFiles(root=str(root) if root else None),
    )
    return Target("default", "hpc", "uid-of-hpc", spec)


class OnceElsewhere:
    """The HTTP client, which knocks at a closed door once where a test asks for it, or waits for a shorter time."""

    def __init__(self, http: object, nobody: object) -> None:
        self._http = http
        self._nobody = nobody
        self.is_away = False
        self.is_short = False

    async def ask(self, request: Request) -> object:
        assert (request.within or 1.0) <= LONGEST, "a request that is bounded in name only"
        if self.is_short:
            request = replace(request, within=0.3, max_bytes=1 << 20)
        away, self.is_away = self.is_away, False
        return await (self._nobody if away else self._http).ask(request)

    def leave_alone(self, seconds: float) -> None:
        self._http.leave_alone(seconds)

    async def aclose(self) -> None:
        await self._http.aclose()
        await self._nobody.aclose()


class SlurmWorld(ManagerWorld):
    waits = True
    patience = 200.0
    settling = 120.0
    run = Run(script="#!/bin/sh\nsleep 60\n")
    version: ClassVar[str]
    accounting: ClassVar[bool] = True
    shares: ClassVar[bool] = False
    submission: ClassVar[str] = "Held"
    patterns: ClassVar[dict[str, str]] = {
        "submit": r"POST .*/job/submit",
        "release": r"POST .*/job/\d+$",
        "cancel": r"DELETE .*/job/\d+$",
        "find": r"GET .*/jobs$",
        "observe": r"GET .*/slurm/.*/job",
        "sweep": r"GET .*/jobs$",
        "read": r"GET .*/job/\d+$",
        "probe": r"GET .*/ping",
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        os.environ[TOKEN_NAME] = TOKEN
        self.clock = HandClock()
        self.cluster = FakeCluster(self.clock.timestamp, accounting=self.accounting)
        self.server = FakeSlurmrestd(self.cluster, self.version)
        self.manager = self.connect(self.server.url)
        self.way = OnceElsewhere(self.manager._rest._http, self.connect(NOBODY)._rest._http)
        self.manager._rest._http = self.way

    def connect(self, url: str, **options: object) -> object:
        root = self.folder if self.shares else None
        return connect(target_at(url, root=root, submission=self.submission, **options), "default", Place(self.clock))

    async def __aenter__(self):
        self.server.__enter__()
        await self.manager.probe()
        return self

    async def __aexit__(self, kind, e, t):
        await super().__aexit__(kind, e, t)
        self.server.__exit__()
        if kind is None:
            assert [] == self.server.crimes

    def order(self, name="job", **spec):
        # A name with the node in it is known only once Slurm is asked, so reading has something to be cut off from.
        if "held" not in spec and "attempt" not in spec:
            spec.setdefault("output", "%x-%N.out")
        spec.setdefault("working_directory", str(self.folder))
        return super().order(name, **spec)

    async def start(self, handle):
        self.cluster.start(int(handle.id))

    async def finish(self, handle, *, exit_code=0, signal=None):
        self.cluster.finish(int(handle.id), exit_code=exit_code, signal=signal or 0)

    def starts(self, key):
        return self.cluster.starts.count(key)

    async def purge(self, handle):
        await self.clock.sleep(self.cluster.min_job_age + 1)
        self.cluster.catch_up()

    async def reuse(self, handle):
        return str(self.cluster.reuse(int(handle.id)).id)

    def still_runs(self, stranger):
        return self.cluster.live[int(stranger)].words == ["RUNNING"]

    async def say(self, handle, word):
        self.cluster.say(int(handle.id), word)

    async def write(self, handle, data):
        job = self.cluster.live[int(handle.id)]
        path = Path(job.desc["standard_output"].replace("%x", job.name).replace("%N", job.nodes))
        await asyncio.to_thread(append, path, data)

    def signals(self, key):
        jobs = [*self.cluster.live.values(), *self.cluster.past]
        return [name for job in jobs if job.name == key for name in job.signals]

    def cut(self, call, when):
        self.server.fault(self.patterns[call], f"cut {when}")

    def refuse(self, call):
        self.way.is_away = True

    def delay(self, call):
        self.server.fault(self.patterns[call], "late")

    async def arrive(self):
        for happen in self.server.belated:
            await asyncio.to_thread(happen)

    def double(self, call):
        self.server.fault(self.patterns[call], "doubled")

    def reject(self, call):
        self.server.fault(self.patterns[call], "status", status=500, body=NO)

    def stall(self, call):
        self.server.fault(self.patterns[call], "silent")
        self.way.is_short = True

    def swell(self, call):
        self.server.fault(self.patterns[call], "endless")
        self.way.is_short = True

    def garble(self, call):
        self.server.fault(self.patterns[call], "body", body=b"<html>welcome</html>")

    def lock(self):
        self.server.locked = True

    def rotate(self):
        self.server.token = os.environ[TOKEN_NAME] = TOKEN.replace("header", "another")

    def requests(self):
        return self.server.requests.total()


ABILITIES = Abilities(
    key="searched",
    holds=True,
    history=True,
    arrays=True,
    hold=True,
    signal=True,
    update_walltime=True,
    output=False,
    warns=True,
    settles=60.0,
    poll_soon=2.0,
    poll_rest=30.0,
)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
