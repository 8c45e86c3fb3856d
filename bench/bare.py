"""
The other side of the submit figures: a plain loop over keep-alive connections that makes the same calls.

No store, no intents, no looking back: what slurmrestd itself can take.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

SCRIPT = "#!/bin/sh\nexec sleep 3600\n"


class Bare:
    """Keep-alive connections to one slurmrestd, one for each thread."""

    def __init__(self, url: str, *, user: str, token: str, version: str, folder: str) -> None:
        self._address = urlsplit(url)
        self._headers = {
            "X-SLURM-USER-NAME": user,
            "X-SLURM-USER-TOKEN": token,
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        self.version = version
        self._folder = folder

    def connection(self) -> http.client.HTTPConnection:
        """Open one."""
        return http.client.HTTPConnection(self._address.hostname or "", self._address.port, timeout=120)

    def call(self, there: http.client.HTTPConnection, method: str, path: str, body: object = None) -> bytes:
        """Ask once; raise where the answer is no success."""
        there.request(method, path, None if body is None else json.dumps(body), dict(self._headers))
        answer = there.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return content

    def json(self, there: http.client.HTTPConnection, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Ask once; return the answer, read."""
        answer: dict[str, Any] = json.loads(self.call(there, method, path, body))
        return answer

    def submit(self, there: http.client.HTTPConnection, name: str, *, held: bool) -> str:
        """Submit one job, held where asked; return its id."""
        description = {
            "name": name,
            "comment": name,
            "script": SCRIPT,
            "current_working_directory": f"{self._folder}/{name}",
            "standard_output": f"{self._folder}/{name}/output.txt",
            "environment": ["PATH=/usr/local/bin:/usr/bin:/bin"],
            "time_limit": {"set": True, "number": 60},
            **({"hold": True} if held else {}),
        }
        answer = self.call(there, "POST", f"/slurm/{self.version}/job/submit", {"job": description})
        return str(json.loads(answer)["job_id"])

    def release(self, there: http.client.HTTPConnection, number: str) -> None:
        """Let a held job go."""
        self.call(there, "POST", f"/slurm/{self.version}/job/{number}", {"hold": False})

    def look(self, there: http.client.HTTPConnection, number: str) -> int:
        """Read one job; return the size of the answer."""
        return len(self.call(there, "GET", f"/slurm/{self.version}/job/{number}"))

    def size_of_list(self) -> int:
        """Return the bytes of the full list of jobs."""
        there = self.connection()
        try:
            return len(self.call(there, "GET", f"/slurm/{self.version}/jobs"))
        finally:
            there.close()

    def rate(self, count: int, *, at_once: int, held: bool, looks: bool = False) -> float:
        """Return how many jobs a second are submitted (and released, where held) by *at_once* threads."""

        def one(there: http.client.HTTPConnection, n: int) -> None:
            number = self.submit(there, f"bare-{time.time_ns()}-{n}", held=held)
            if looks:
                self.look(there, number)
            if held:
                self.release(there, number)

        return per_second(count, at_once=at_once, connect=self.connection, step=one)


def per_second(
    count: int,
    *,
    at_once: int,
    connect: Callable[[], http.client.HTTPConnection],
    step: Callable[[http.client.HTTPConnection, int], None],
) -> float:
    """Do *step* so many times, by *at_once* threads with a connection each; return how many were done a second."""
    faults: list[Exception] = []

    def work(first: int) -> None:
        there = connect()
        try:
            for n in range(first, count, at_once):
                step(there, n)
        except Exception as fault:  # noqa: BLE001 - told to whoever waits for the threads
            faults.append(fault)
        finally:
            there.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(at_once)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return count / (time.perf_counter() - began)


def median(values: list[float]) -> float:
    """Return the middle one."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if len(ordered) % 2 else sum(ordered[len(ordered) // 2 - 1 :][:2]) / 2


Parts = Mapping[str, float]
