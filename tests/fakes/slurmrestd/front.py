"""The door of the fake slurmrestd: HTTP, and what can go wrong with it, one request at a time."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Literal, Protocol

Kind = Literal["cut before", "cut after", "late", "doubled", "silent", "status", "body", "endless", "slow"]


class Fault:
    """What goes wrong with the next request that *matches* METHOD and path."""

    def __init__(
        self, pattern: str, kind: Kind, status: int = 200, body: bytes = b"", headers: dict[str, str] | None = None
    ):
        self.pattern = re.compile(pattern)
        self.kind = kind
        self.status = status
        self.body = body
        self.headers = headers or {}


class Fake(Protocol):
    bytes_out: int
    belated: list[Callable[[], object]]
    """What was asked and is yet to happen, unanswered."""

    def fault_for(self, line: str) -> Fault | None: ...

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> tuple[int, object]: ...


def handler_for(fake: Fake) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 20

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                self.close_connection = True  # the client has gone, which is its right

        def _serve(self) -> None:
            self.close_connection = True
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = fake.fault_for(f"{self.command} {self.path}")
            if fault is not None and fault.kind == "cut before":
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            if fault is not None and fault.kind == "silent":
                self.rfile.read(1)  # until the client leaves
                return
            if fault is not None and fault.kind == "late":
                fake.belated.append(partial(fake.answer, self.command, self.path, headers, body))
                return
            if fault is not None and fault.kind == "doubled":
                fake.answer(self.command, self.path, headers, body)
            if fault is None or fault.kind in {"cut after", "doubled"}:
                status, answer = fake.answer(self.command, self.path, headers, body)
            else:
                status, answer = fault.status, fault.body
            if fault is not None and fault.kind == "cut after":
                return
            self._send(status, answer, fault)

        def _send(self, status: int, answer: object, fault: Fault | None) -> None:
            text = answer if isinstance(answer, bytes) else None
            if text is None:
                text = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            fake.bytes_out += len(text)
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if isinstance(answer, str) else "application/json")
            for name, value in (fault.headers if fault else {}).items():
                self.send_header(name, value)
            if fault is not None and fault.kind == "endless":
                self.end_headers()
                while True:
                    self.wfile.write(b" " * 65536)
            self.send_header("Connection", "close")
            if status != 304:
                self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            if fault is not None and fault.kind == "slow":
                time.sleep(0.2)
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = do_PUT = _serve  # noqa: N815

    return Handler
