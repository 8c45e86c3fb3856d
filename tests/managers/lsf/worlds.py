"""The worlds in which the contract of managers is kept: the fake Application Center, over real HTTP, with real processes."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from bascule.clients.asking import Request
from bascule.managers.lsf import connect
from bascule.model import Credentials, Network, Run, Target, TargetSpec
from bascule.wiring import OWN_MACHINE
from tests.contracts.manager_world import ManagerWorld
from tests.fakes.lsf.cluster import US, FakeCluster
from tests.fakes.lsf.server import PASSWORDS, FakeCenter

PASSWORD_NAME = "BASCULE_TEST_LSF_PASSWORD"
NOBODY = "http://127.0.0.1:1/platform"
NO = {
    False: b'{"message": "wrong: No such queue. Job not submitted."}',
    True: b"<Job><errMsg>wrong: No such queue. Job not submitted.</errMsg></Job>",
}
SCRIPT = """#!/bin/sh
cd "$HANDS"
key=${LSB_JOBNAME}
echo started >>"$key.starts"
trap 'echo USR1 >>"$key.signals"' USR1
while :; do
    if [ -f "$key.write" ]; then cat "$key.write"; rm "$key.write"; fi
    if [ -f "$key.signal" ]; then kill -"$(cat "$key.signal")" $$; fi
    if [ -f "$key.exit" ]; then exit "$(cat "$key.exit")"; fi
    sleep 0.02
done
"""


class QuickClock:
    """A clock that goes as the real one, and ahead of it where somebody waits: processes need some real time."""

    AHEAD = 20.0
    REALLY = 0.02

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self._ahead)

    def timestamp(self) -> float:
        return time.time() + self._ahead

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        self._ahead += seconds * self.AHEAD
        await asyncio.sleep(min(seconds, self.REALLY))


class Place:
    home = Path("/nowhere")
    policy = OWN_MACHINE.policy

    def __init__(self, clock: object) -> None:
        self.clock = clock

    async def secret(self, namespace: str, name: str, key: str) -> str:
        raise AssertionError("no secret is needed here")


def target_at(url: str, *, user: str = US, submission: str = "Held", **options: object) -> Target:
    spec = TargetSpec(
        "lsf",
        url=url,
        credentials=Credentials(user=user, env=PASSWORD_NAME),
        network=Network(),
        options=options,
        submission=submission,
    )
    return Target("default", "hpc", "uid-of-hpc", spec)


class Way:
    """The HTTP client, which knocks at a closed door once where a test asks for it, or waits for a shorter time."""

    LONGEST, SHORT = 120.0, 1.0

    def __init__(self, http: object, nobody: object, server: FakeCenter) -> None:
        self._http = http
        self._nobody = nobody
        self._server = server
        self.is_away = False
        self.is_short = False

    async def ask(self, request: Request) -> object:
        assert 0 < (request.within or 0) <= self.LONGEST, "a request that is bounded in name only"
        self.is_short = self.is_short and bool(self._server.faults)
        if self.is_short:
            request = replace(request, within=self.SHORT, max_bytes=1 << 20)
        away, self.is_away = self.is_away, False
        return await (self._nobody if away else self._http).ask(request)

    async def aclose(self) -> None:
        await self._http.aclose()
        await self._nobody.aclose()


class LsfWorld(ManagerWorld):
    waits = True
    patience = 3000.0
    settling = 30.0
    run = Run(script=SCRIPT)
    old: ClassVar[bool] = False
    submission: ClassVar[str] = "Held"
    patterns: ClassVar[dict[str, str]] = {
        "submit": r"POST .*/(jobs/submit|submitapp)",
        "release": r"POST .*/userCmd",
        "cancel": r"POST .*/userCmd",
        "find": r"GET .*/jobs",
        "observe": r"(POST .*/jobs/getbasicinfo|GET .*/pacclient/jobs)",
        "sweep": r"GET .*/jobs",
        "read": r"GET .*/jobfiles/\d+",
        "probe": r"(GET .*/version|logon)",
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        os.environ[PASSWORD_NAME] = PASSWORDS[US]
        self.clock = QuickClock()
        self.hands = folder / "hands"
        self.hands.mkdir()
        self.cluster = FakeCluster(folder / "jobs", self.clock.timestamp)
        (folder / "jobs").mkdir()
        self.server = FakeCenter(self.cluster, old=self.old)
        self.manager = self.connect(self.server.url)
        self.nobody = self.connect(NOBODY)
        self.way = Way(self.manager._rest._http, self.nobody._rest._http, self.server)
        self.manager._rest._http = self.way

    def connect(self, url: str, **options: object) -> object:
        return connect(target_at(url, submission=self.submission, **options), "default", Place(self.clock))

    async def __aenter__(self):
        self.server.__enter__()
        await self.manager.probe()
        return self

    async def __aexit__(self, kind, e, t):
        await super().__aexit__(kind, e, t)
        await self.nobody.aclose()
        self.server.__exit__()
        if kind is None:
            assert [] == self.server.crimes

    def order(self, name="job", **spec):
        held, attempt = spec.pop("held", False), spec.pop("attempt", 1)
        return super().order(name, held=held, attempt=attempt, env={"HANDS": str(self.hands)}, **spec)

    async def start(self, handle):
        with self.cluster.lock:
            jobs = self.cluster.jobs_of(int(handle.id))
            for job in jobs:
                self.cluster.start(job)
        if jobs and jobs[0].word == "RUN":
            await wait_for(lambda: self.starts(handle.key))

    async def finish(self, handle, *, exit_code=0, signal=None):
        self.tell(handle, "exit" if signal is None else "signal", str(exit_code if signal is None else signal))

    def starts(self, key):
        return len(self.told(key, "starts"))

    def signals(self, key):
        return self.told(key, "signals")

    async def purge(self, handle):
        await self.clock.sleep(self.cluster.clean_period / QuickClock.AHEAD + 1)
        self.cluster.catch_up()

    async def reuse(self, handle):
        with self.cluster.lock:
            return str(self.cluster.reuse(int(handle.id)).process.pid)

    def still_runs(self, stranger):
        return any(
            job.process and str(job.process.pid) == stranger and job.process.poll() is None for job in self.cluster.live
        )

    async def say(self, handle, word):
        self.cluster.say(int(handle.id), word)

    async def write(self, handle, data):
        self.tell(handle, "write", data)
        await wait_for(lambda: not (self.hands / f"{handle.key}.write").exists())

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
        self.server.fault(self.patterns[call], "status", status=200 if self.old else 500, body=NO[self.old])

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
        self.server.passwords[US] = os.environ[PASSWORD_NAME] = "another & new one"
        self.server.sessions.clear()

    def requests(self):
        return self.server.requests.total()

    def tell(self, handle, what, data):
        ready = self.hands / f"{handle.key}.new"
        ready.write_bytes(data if isinstance(data, bytes) else data.encode())
        ready.rename(self.hands / f"{handle.key}.{what}")

    def told(self, key, what):
        path = self.hands / f"{key}.{what}"
        return path.read_text().split() if path.exists() else []


async def wait_for(is_so, within=60.0):
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        if found := is_so():
            return found
        await asyncio.sleep(0.01)
    raise AssertionError(f"not so within {within} s")
