"""
A strict fake of a Ray head's dashboard over real HTTP and WebSockets.

Strict: what a real head takes in silence and drops, or is poisoned by, is written down in
`crimes` of the cluster, and a test that ends with one fails. Faults are ordered one request at a time.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, Self

from aiohttp import WSMsgType, web

from tests.fakes.ray.cluster import FakeCluster, Said

LARGEST = 100 << 20
PATIENCE = 20.0
Kind = Literal["cut before", "cut after", "late", "doubled", "silent", "endless", "status"]
NOT_FOUND = "404: Not Found"


class Fault:
    """What goes wrong with the next request that *matches* METHOD and path."""

    def __init__(self, pattern: str, kind: Kind, status: int = 200, body: str = "") -> None:
        self.pattern = re.compile(pattern)
        self.kind = kind
        self.status = status
        self.body = body


class FakeHead:
    """*wraps*: a new head, which tells an agent's 400 as a 500; *streams* False: a proxy that lets no WebSocket through."""

    def __init__(self, cluster: FakeCluster, *, wraps: bool = True, version: str = "2.60.0", token: str = "") -> None:
        self.cluster = cluster
        self.wraps = wraps
        self.version = version
        self.token = token
        self.streams = True
        self.has_jobs_api = True
        self.faults: list[Fault] = []
        self.belated: list[Callable[[], object]] = []
        self.requests: Counter[str] = Counter()
        self.tails: list[web.WebSocketResponse] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def fault(self, pattern: str, kind: Kind, **more: Any) -> None:
        self.faults.append(Fault(pattern, kind, **more))

    def cut_tails(self) -> None:
        """Lose the line of every tail that is open."""

        async def cut() -> None:
            for tail in self.tails:
                if tail._req is not None and tail._req.transport is not None:
                    tail._req.transport.abort()

        self._call(cut())

    def _call(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _open(self) -> None:
        self._runner = web.ServerRunner(web.Server(self._serve), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def _close(self) -> None:
        await self._runner.cleanup()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        line = f"{request.method} {request.rel_url.raw_path}"
        self.requests[re.sub(r"/jobs/[^/]+", "/jobs/ID", line)] += 1
        body = await request.read()
        fault = next((fault for fault in self.faults if fault.pattern.search(line)), None)
        if fault is not None:
            self.faults.remove(fault)
        kind = fault.kind if fault is not None else ""
        if kind in {"late", "doubled", "cut after"}:
            self.belated.append(lambda: self._answer(request, body))
            if kind != "late":
                self.belated.pop()()
        if kind in {"cut before", "cut after", "late"}:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if kind == "silent":
            await asyncio.sleep(PATIENCE)
        if kind == "endless":
            return await self._without_end(request)
        if fault is not None and kind == "status":
            return _text(fault.status, fault.body)
        if request.path.endswith("/logs/tail") and self.streams:
            return await self._tail(request)
        return self._answer(request, body)

    def _answer(self, request: web.BaseRequest, body: bytes) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        try:
            return self._routed(request.method, request.rel_url.raw_path, body)
        except Said as said:
            if said.by_agent and self.wraps:
                inner = (
                    f"RuntimeError: Request failed with status code {said.status}: Traceback (most recent call last):\n"
                )
                return _text(500, f"Traceback (most recent call last):\n{inner}{said.words}\n.\n")
            return _text(said.status, f"Traceback (most recent call last):\n{said.words}\n")

    def _refusal(self, request: web.BaseRequest) -> web.Response | None:
        if not self.token:
            return None
        given = request.headers.get("Authorization")
        if given is None:
            return _text(401, "Unauthorized: Missing authentication token")
        return None if given == f"Bearer {self.token}" else _text(403, "Forbidden: Invalid authentication token")

    def _routed(self, method: str, path: str, body: bytes) -> web.Response:
        if (method, path) == ("GET", "/api/version"):
            session = self.cluster.session
            return _json({"version": "4", "ray_version": self.version, "ray_commit": "abc", "session_name": session})
        if path.startswith("/api/packages/"):
            return self._package(method, path, body)
        if not self.has_jobs_api:
            return _text(404, NOT_FOUND)
        if path == "/api/jobs/":
            return self._jobs(method, body)
        found = re.fullmatch(r"/api/jobs/([^/]+)(/stop|/logs|/logs/tail)?", path)
        if found is None:
            return _text(404, NOT_FOUND)
        id_, rest = found[1], found[2] or ""
        if (method, rest) not in {
            ("GET", ""),
            ("DELETE", ""),
            ("POST", "/stop"),
            ("GET", "/logs"),
            ("GET", "/logs/tail"),
        }:
            return _text(405, "405: Method Not Allowed")
        job = self.cluster.jobs.get(id_)
        if job is None:
            return _text(404, f"Job {id_} does not exist")
        match method, rest:
            case "POST", _:
                return _json({"stopped": self.cluster.stop(id_)})
            case "DELETE", _:
                self.cluster.delete(id_)
                return _json({"deleted": True})
            case _, "/logs":
                return _json({"logs": self.cluster.text_of(job)})
            case _, "/logs/tail":
                return _text(400, 'No WebSocket UPGRADE hdr: None\n Can "Upgrade" only to "WebSocket".')
        return _json(job.details())

    def _jobs(self, method: str, body: bytes) -> web.Response:
        if method == "GET":
            driver = {
                "type": "DRIVER",
                "job_id": "01000000",
                "submission_id": None,
                "status": "RUNNING",
                "entrypoint": "x",
            }
            return _json([*(job.details() for job in self.cluster.jobs.values()), driver])
        if method != "POST":
            return _text(405, "405: Method Not Allowed")
        try:
            asked = json.loads(body)
        except ValueError:
            return _text(500, "500 Internal Server Error\n\nServer got itself in trouble")
        job = self.cluster.submit({name: value for name, value in asked.items() if value is not None})
        return _json({"job_id": job.id, "submission_id": job.id})

    def _package(self, method: str, path: str, body: bytes) -> web.Response:
        protocol, _, name = path.removeprefix("/api/packages/").partition("/")
        if protocol != "gcs":
            return _text(500, f"ValueError: '{protocol}' is not a valid Protocol")
        if method == "PUT":
            if len(body) > LARGEST:
                return _text(413, f"Maximum request body size {LARGEST} exceeded, actual body size {len(body)}")
            self.cluster.bring(name, body)
        elif name not in self.cluster.packages:
            return _text(404, f"Package gcs://{name} does not exist")
        return web.Response()

    async def _tail(self, request: web.BaseRequest) -> web.StreamResponse:
        """Tell a log from its beginning, some lines at a time, until the job is over."""
        if refusal := self._refusal(request):
            return refusal
        job = self.cluster.jobs.get(request.path.split("/")[3])
        if job is None:
            return _text(404, "Job does not exist")
        tail = web.WebSocketResponse()
        await tail.prepare(request)
        self.tails.append(tail)
        told = 0
        while not tail.closed:
            was_over = job.is_over
            try:
                text = self.cluster.text_of(job)
            except Said:
                break
            for piece in re.findall(r"(?:[^\n]*\n){1,10}|[^\n]+", text[told:]):
                await tail.send_str(piece)
            told = len(text)
            if was_over:
                break
            await self._listen(tail, 0.02)
        await tail.close()
        return tail

    async def _listen(self, tail: web.WebSocketResponse, seconds: float) -> None:
        try:
            message = await tail.receive(timeout=seconds)
        except TimeoutError:
            return
        assert message.type in {WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING, WSMsgType.ERROR}

    async def _without_end(self, request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        try:
            while True:
                await answer.write(b" " * 65536)
        except (ConnectionError, asyncio.CancelledError):
            return answer


def _json(what: object) -> web.Response:
    return web.Response(text=json.dumps(what), content_type="application/json")


def _text(status: int, words: str) -> web.Response:
    return web.Response(status=status, text=words)
