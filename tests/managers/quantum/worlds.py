"""The world in which the contract of managers is kept: our own gateway over real HTTP, its jobs moved by hand."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import zlib
from dataclasses import replace
from pathlib import Path

from bascule.clients.addresses import AddressPolicy
from bascule.clients.asking import Request
from bascule.gateways.quantum.accounts import INSTANCE, Accounts
from bascule.gateways.quantum.devices import DEVICES
from bascule.gateways.quantum.records import COMPLETED, FAILED, RUNNING
from bascule.gateways.quantum.service import QuantumService
from bascule.managers.quantum import connect
from bascule.model import Credentials, Program, Run, Target, TargetFiles, TargetSpec
from bascule.ports import Abilities
from tests.contracts.manager_world import ManagerWorld
from tests.gateways.quantum.served import Served
from tests.managers.hand_clock import HandClock

KEY = "canary-api-key-of-the-tests"
KEY_NAME = "BASCULE_TEST_QUANTUM_KEY"
NOBODY = "http://127.0.0.1:1"
LONGEST = 300.0
BELL = """OPENQASM 3.0;
include "stdgates.inc";
qubit[2] q;
bit[2] meas;
h q[0];
cx q[0], q[1];
meas = measure q;
"""


class HandService(QuantumService):
    """The gateway's service, of which the jobs go as they are told."""

    def __init__(self, now, **more) -> None:
        super().__init__(None, DEVICES, now, **more)
        self.starts: list[str] = []

    async def run(self) -> None:
        await asyncio.get_running_loop().create_future()

    def start(self, job_id: str) -> None:
        job = self.job(job_id)
        if job.status != RUNNING:
            job.status, job.started = RUNNING, self._now()
            self.starts.extend(job.tags)

    def finish(self, job_id: str, *, failed: str = "", code: int | None = None, results: str = "") -> None:
        job = self.job(job_id)
        job.results, job.logs = results or sampled({"00": 50, "11": 50}), "it was computed\n"
        job.end(FAILED if failed else COMPLETED, self._now(), failed, code)


def sampled(counts: dict[str, int], name: str = "meas") -> str:
    """Return results of the sampler as the service encodes them."""
    width = len(next(iter(counts)))
    words = b"".join(int(word, 2).to_bytes((width + 7) // 8, "big") * n for word, n in counts.items())
    shape = (sum(counts.values()), (width + 7) // 8)
    array = {"__type__": "ndarray", "__value__": packed(words, shape)}
    bits = {"__type__": "BitArray", "__value__": {"array": array, "num_bits": width}}
    data = {"__type__": "DataBin", "__value__": {"field_names": [name], "shape": [], "fields": {name: bits}}}
    pub = {"__type__": "SamplerPubResult", "__value__": {"data": data, "metadata": {}}}
    return json.dumps({"__type__": "PrimitiveResult", "__value__": {"pub_results": [pub], "metadata": {}}})


def packed(data: bytes, shape: tuple[int, ...], kind: str = "|u1") -> str:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape!r}, }}".ljust(117) + "\n"
    file = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + data
    return base64.b64encode(zlib.compress(file)).decode()


class Place:
    def __init__(self, home: Path, clock: object) -> None:
        self.home = home
        self.clock = clock

    def policy(self, allow: tuple[str, ...]) -> AddressPolicy:
        return AddressPolicy.of(allow, inner=True)

    async def secret(self, namespace: str, name: str, key: str) -> str:
        raise AssertionError("no secret is needed here")


def target_at(url: str, *, root: Path | None = None, **options: object) -> Target:
    spec = TargetSpec(
        "quantum",
        url=f"{url}/api/v1",
        credentials=Credentials(env=KEY_NAME),
        options={"instance": INSTANCE, "iam": url, "backend": "aer", "submitsPerMinute": 0, **options},
        files=TargetFiles(root=str(root) if root else None),
    )
    return Target("default", "gateway", "uid-of-gateway", spec)


class OnceElsewhere:
    """The HTTP client, which knocks at a closed door once where a test asks for it, or waits for a shorter time."""

    def __init__(self, http: object, nobody: object) -> None:
        self._http = http
        self._nobody = nobody
        self.is_away = False
        self.is_short = False

    async def ask(self, request: Request) -> object:
        assert 0 < request.within <= LONGEST, "a request that is bounded in name only"
        if self.is_short:
            request = replace(request, within=1.0, max_bytes=1 << 20)
        away, self.is_away = self.is_away, False
        return await (self._nobody if away else self._http).ask(request)

    async def aclose(self) -> None:
        await self._http.aclose()
        await self._nobody.aclose()


class QuantumWorld(ManagerWorld):
    abilities = Abilities(key="searched", output=True, walltime=False, settles=60.0, poll_soon=1.0, poll_rest=20.0)
    waits = True
    patience = 200.0
    run = Run(program=Program("sampler", {"pubs": [[BELL, [], 100]]}))
    fails_with = None
    patterns = {
        "submit": r"POST .*/jobs$",
        "cancel": r"POST .*/cancel$",
        "find": r"GET .*/jobs\?",
        "observe": r"GET .*/jobs[/?]",
        "sweep": r"GET .*/jobs\?",
        "read": r"GET .*/jobs/",
        "probe": r"GET .*/backends$",
    }

    def __init__(self, folder: Path, **service: object) -> None:
        super().__init__(folder)
        os.environ[KEY_NAME] = KEY
        self.clock = HandClock()
        self.service = HandService(self.clock.timestamp, **service)
        self.accounts = Accounts(KEY, self.clock.timestamp)
        self.made = []
        self.served = Served(self.service, self.accounts)
        self.weather = self.served.weather

    async def __aenter__(self):
        self.served.__enter__()
        self.url = self.served.url
        self.manager = self.connect(self.url)
        self.nobody = self.connect(NOBODY)
        self.way = OnceElsewhere(self.manager._rest._http, self.nobody._rest._http)
        self.manager._rest._http = self.way
        await self.manager.probe()
        return self

    async def __aexit__(self, kind, e, t):
        await super().__aexit__(kind, e, t)
        await self.way.aclose()
        for manager in self.made:
            await manager.aclose()
        self.served.__exit__()

    def connect(self, url: str, **options: object):
        made = connect(target_at(url, **options), "default", Place(self.folder / "home", self.clock))
        self.made.append(made)
        return made

    async def start(self, handle):
        self.service.start(handle.id)

    async def finish(self, handle, *, exit_code=0, signal=None):
        self.service.finish(
            handle.id, failed="the program failed" if exit_code else "", code=9999 if exit_code else None
        )

    def starts(self, key):
        return self.service.starts.count(key)

    async def say(self, handle, word):
        self.service.job(handle.id).status = word

    def cut(self, call, when):
        self.weather.next(self.patterns[call], f"cut {when}")

    def refuse(self, call):
        self.way.is_away = True

    def delay(self, call):
        self.weather.next(self.patterns[call], "late")

    async def arrive(self):
        await self.weather.arrive()

    def double(self, call):
        self.weather.next(self.patterns[call], "doubled")

    def reject(self, call):
        self.weather.next(
            self.patterns[call], "instead", status=400, body='{"errors": [{"code": 1200, "message": "no"}]}'
        )

    def stall(self, call):
        self.weather.next(self.patterns[call], "silent")
        self.way.is_short = True

    def swell(self, call):
        self.weather.next(self.patterns[call], "endless")
        self.way.is_short = True

    def garble(self, call):
        self.weather.next(self.patterns[call], "instead", status=200, body="<html>welcome</html>")

    def rotate(self):
        other = Accounts(f"another-{KEY}", self.clock.timestamp)
        self.accounts._key, self.accounts._secret = other._key, other._secret
        os.environ[KEY_NAME] = other._key

    def requests(self):
        return len(self.weather.requests)

    def lock(self):
        self.accounts.is_locked = True
