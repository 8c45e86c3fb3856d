"""The worlds in which Ray keeps the contract of managers: a strict fake head over real HTTP, old and new, open and closed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from bascule.clients.asking import Request
from bascule.managers.ray import abilities, connect
from bascule.model import Credentials, Target, TargetSpec
from bascule.wiring import OWN_MACHINE
from tests.contracts.manager_world import ManagerWorld
from tests.fakes.ray.cluster import FakeCluster
from tests.fakes.ray.server import FakeHead
from tests.managers.hand_clock import HandClock

NOBODY = "http://127.0.0.1:1"
TOKEN = "a-token-of-some-length"
ONE_JOB = r"GET .*/jobs/[^/]+$"
LONGEST = 300.0


class Place:
    policy = staticmethod(OWN_MACHINE.policy)

    def __init__(self, clock: object, home: Path) -> None:
        self.clock = clock
        self.home = home

    async def secret(self, namespace: str, name: str, key: str) -> str:
        raise AssertionError("no secret is needed here")


def target_at(url: str, *, token_file: Path | None = None, **options: object) -> Target:
    credentials = Credentials(file=str(token_file) if token_file else None)
    return Target("default", "ray", "uid-of-ray", TargetSpec("ray", url=url, credentials=credentials, options=options))


class Way:
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

    async def open(self, request: Request) -> object:
        return await self._http.open(request)

    async def aclose(self) -> None:
        await self._http.aclose()
        await self._nobody.aclose()


class RayWorld(ManagerWorld):
    abilities = abilities
    waits = True
    tells_starts = False
    odd = "one\n\u00ff\x00 two".encode()  # Ray reads a log as text: what is none it cannot show
    patience = 200.0
    settling = 60.0
    wraps: ClassVar[bool] = True
    version: ClassVar[str] = "2.60.0"
    patterns: ClassVar[dict[str, str]] = {
        "submit": r"POST .*/jobs/$",
        "cancel": r"POST .*/stop$",
        "find": ONE_JOB,
        "observe": ONE_JOB,
        "sweep": r"GET .*/jobs/$",
        "read": ONE_JOB,
        "probe": r"GET .*/version",
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.token_file = folder / "token"
        self.token_file.write_text(TOKEN)
        self.clock = HandClock()
        self.cluster = FakeCluster(self.clock.timestamp)
        self.server = FakeHead(self.cluster, wraps=self.wraps, version=self.version, token=TOKEN)

    def connect(self, url: str, **options: object) -> object:
        place = Place(self.clock, self.folder)
        return connect(target_at(url, token_file=self.token_file, **options), "default", place)

    async def __aenter__(self):
        self.server.__enter__()
        self.manager = self.connect(self.server.url)
        self.way = Way(self.manager._head._http, self.connect(NOBODY)._head._http)
        self.manager._head._http = self.way
        return self

    async def __aexit__(self, kind, e, t):
        await super().__aexit__(kind, e, t)
        await asyncio.to_thread(self.server.__exit__)
        if kind is None:
            assert [] == self.cluster.crimes

    async def start(self, handle):
        self.cluster.start(handle.id)

    async def finish(self, handle, *, exit_code=0, signal=None):
        self.cluster.finish(handle.id, exit_code=-signal if signal else exit_code)

    def starts(self, key):
        return self.cluster.starts.count(key)

    async def reuse(self, handle):
        self.cluster.delete(handle.id)
        self.cluster.submit({"submission_id": handle.id, "entrypoint": "true", "metadata": {"job_name": "theirs"}})
        self.cluster.start(handle.id)
        return handle.id

    def still_runs(self, stranger):
        return self.cluster.jobs[stranger].status == "RUNNING"

    async def say(self, handle, word):
        self.cluster.jobs[handle.id].status = word

    async def write(self, handle, data):
        self.cluster.jobs[handle.id].log += data

    def cut(self, call, when):
        self.server.fault(self.patterns[call], f"cut {when}")

    def refuse(self, call):
        self.way.is_away = True

    def delay(self, call):
        self.server.fault(self.patterns[call], "late")

    async def arrive(self):
        for happen in self.server.belated:
            happen()

    def double(self, call):
        self.server.fault(self.patterns[call], "doubled")

    def reject(self, call):
        self.server.fault(self.patterns[call], "status", status=400, body="Traceback\nTypeError: it is not to be had\n")

    def stall(self, call):
        self.server.fault(self.patterns[call], "silent")
        self.way.is_short = True

    def swell(self, call):
        self.server.fault(self.patterns[call], "endless")
        self.way.is_short = True

    def garble(self, call):
        self.server.fault(self.patterns[call], "status", body="<html>welcome</html>")

    def lock(self):
        self.server.token = "another-that-nobody-knows"

    def rotate(self):
        self.server.token = "the-new-token-of-all"
        self.token_file.write_text(self.server.token)

    def requests(self):
        return self.server.requests.total()
