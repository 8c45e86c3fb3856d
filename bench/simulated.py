"""
A simulated slurmrestd for more jobs than a real one takes: real HTTP, answers made beforehand.

    python -m bench.simulated JOBS

Prints its address. Jobs 1 to JOBS run, under keys that `key_of` makes; ``POST /end/N`` ends the next N
of them. A record of the full list has the fields that Bascule reads, and is about 1 KiB long.
"""

from __future__ import annotations

import asyncio
import json
import sys
from urllib.parse import parse_qsl, urlsplit

V = "/slurm/v0.0.45"
PADDING = "x" * 500
META = {"meta": {"slurm": {"release": "26.05.5"}}, "errors": [], "warnings": []}
SUBMITTED = 1_700_000_000


def key_of(number: int) -> str:
    """Return the key of a job."""
    return f"job-bench-{number:08d}-1"


class Simulated:
    """So many jobs."""

    def __init__(self, count: int) -> None:
        self._words = dict.fromkeys(range(1, count + 1), "RUNNING")
        self._ended = 0
        self._made: dict[str, bytes] = {}

    async def serve(self) -> None:
        """Answer until killed."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._list(), self._states()
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        await reader.readexactly(int(line.partition(b":")[2]))
                status, body = self._answer(method, target)
                writer.write(
                    b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                    % (status, len(body))
                )
                writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, method: str, target: str) -> tuple[int, bytes]:
        parts = urlsplit(target)
        path = parts.path
        if method == "POST" and path.startswith("/end/"):
            for number in range(self._ended + 1, self._ended + 1 + int(path[5:])):
                self._words[number] = "COMPLETED"
                self._ended = number
            self._made.clear()
            self._list(), self._states()
            return 200, b"{}"
        if path == f"{V}/ping":
            return 200, _json(pings=[{"hostname": "sim", "responding": True}])
        if path == f"{V}/jobs/state":
            wanted = {value for name, value in parse_qsl(parts.query) if name == "job_id"}
            return 200, self._states(wanted) if wanted else self._states()
        if path == f"{V}/jobs":
            if "update_time" in parts.query:
                return 200, _json(jobs=[], warnings=[{"description": "No job changes since update_time"}])
            return 200, self._list()
        if path.startswith(f"{V}/job/"):
            number = int(path.rpartition("/")[2])
            return 200, b'{"errors":[],"warnings":[],"jobs":[%s]}' % self._record(number)
        return 404, b"Unable to find requested URL endpoint."

    def _states(self, wanted: set[str] | None = None) -> bytes:
        if wanted is not None:
            return _json(jobs=[{"job_id": n, "state": [self._words[int(n)]]} for n in sorted(wanted)])
        if "states" not in self._made:
            self._made["states"] = _json(jobs=[{"job_id": str(n), "state": [w]} for n, w in self._words.items()])
        return self._made["states"]

    def _list(self) -> bytes:
        if "list" not in self._made:
            records = b",".join(self._record(number) for number in self._words)
            self._made["list"] = b'{"errors":[],"warnings":[],"jobs":[' + records + b"]}"
        return self._made["list"]

    def _record(self, number: int) -> bytes:
        word, key = self._words[number], key_of(number)
        record = {
            "job_id": number,
            "name": key,
            "comment": key,
            "user_name": "alice",
            "job_state": [word],
            "state_reason": "None",
            "submit_time": {"set": True, "infinite": False, "number": SUBMITTED},
            "start_time": {"set": True, "infinite": False, "number": SUBMITTED + 5},
            "end_time": {"set": True, "infinite": False, "number": SUBMITTED + 3600},
            "exit_code": {"status": ["SUCCESS"], "return_code": {"set": True, "infinite": False, "number": 0}},
            "nodes": "n1",
            "restart_cnt": 0,
            "current_working_directory": "/scratch/bascule",
            "partition": "main",
            "others": PADDING,
        }
        return json.dumps(record).encode()


def _json(**more: object) -> bytes:
    return json.dumps({**META, **more}).encode()


if __name__ == "__main__":
    asyncio.run(Simulated(int(sys.argv[1])).serve())
