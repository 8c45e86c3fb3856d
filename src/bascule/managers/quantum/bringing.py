"""
Bringing home what a job that is over has left at the service: results, log, metrics.

A job is over for us once they are here, so that nobody who waits for it finds nothing. A
service that does not give them is asked a few times; then the job is over all the same, and
whoever reads asks again.
"""

from __future__ import annotations

import asyncio

import msgspec

from bascule.errors import Unavailable
from bascule.managers.quantum.arrays import Unreadable
from bascule.managers.quantum.home import LOG, OUTPUT, Home
from bascule.managers.quantum.results import decoded
from bascule.managers.quantum.service import Service
from bascule.managers.quantum.states import phase_of
from bascule.managers.quantum.wire import JobRecord
from bascule.model import Handle, Phase


class NotReady(Unavailable):
    """The service says that a job is over, and has no results yet."""


class Porter:
    """Brings home what jobs have left."""

    def __init__(self, service: Service, home: Home) -> None:
        self._service = service
        self._home = home

    async def bring(self, record: JobRecord, handle: Handle) -> str:
        """Bring a job's results home, if they are not here; return where they are, as a sentence."""
        if not self._home.has(handle):
            await self._home.store(handle, await self._files(record))
        if phase_of(record) is not Phase.SUCCEEDED:
            return ""
        return f"results in {self._home.folder(handle)}"

    async def _files(self, record: JobRecord) -> dict[str, bytes]:
        files: dict[str, bytes] = {OUTPUT: b""}
        log = await self._service.logs(record.id)
        if phase_of(record) is Phase.SUCCEEDED:
            answer = await self._service.results(record.id)
            if answer.status != 200 or not answer.http.body:
                raise NotReady(f"the results of job `{record.id}` are not ready: {answer.words}")
            files |= await asyncio.to_thread(_files_of, answer.http.body)
        elif record.state is not None and record.state.reason:
            log = log or f"{record.state.reason}\n".encode()
        metrics = await self._service.metrics(record)
        if metrics is not None:
            files["metrics.json"] = msgspec.json.encode(metrics)
        return {**files, LOG: log}


def _files_of(body: bytes) -> dict[str, bytes]:
    files = {"service.json": body}
    try:
        made = decoded(body)
    except Unreadable as error:
        line = {"undecoded": str(error), "file": "service.json"}
        return {**files, OUTPUT: msgspec.json.encode(line) + b"\n"}
    files[OUTPUT] = b"".join(msgspec.json.encode(line) + b"\n" for line in made.lines)
    if made.counts:
        files["counts.json"] = msgspec.json.encode(made.counts)
    return files | made.arrays
