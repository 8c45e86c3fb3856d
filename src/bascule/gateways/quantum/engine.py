"""
Computing in a process of its own, which is ended where a job is to be.

The process is kept from job to job, since importing Qiskit takes seconds. One that dies costs
the job that it computed, and is started again for the next.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any, Self

from bascule.errors import Mistake
from bascule.gateways.quantum.frames import HEAD, framed, length_in
from bascule.gateways.quantum.records import Job
from bascule.gateways.quantum.refusals import ProgramFailed
from bascule.gateways.quantum.service import Outcome

STARTS_WITHIN = 120.0
LEAVES_WITHIN = 5.0


class ProcessEngine:
    """Computes with Qiskit Aer, in a worker process."""

    def __init__(self) -> None:
        self._worker: asyncio.subprocess.Process | None = None
        self.version = ""

    async def __aenter__(self) -> Self:
        """Start the worker; raise `Mistake` where Qiskit is not installed."""
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the worker."""
        await self._stop()

    async def run(self, job: Job) -> Outcome:
        """Compute *job*; `service.Engine`."""
        if self._worker is None:
            try:
                await self._start()
            except Mistake as broken:
                raise ProgramFailed(broken.message) from None
        try:
            answer = await self._ask({"program": job.program, "backend": job.backend, "params": job.params})
        except (EOFError, OSError, ValueError):
            await self._stop()
            raise ProgramFailed("the simulator ended in the middle; did it run out of memory?") from None
        except asyncio.CancelledError:
            await self._stop()
            raise
        if "failed" in answer:
            raise ProgramFailed(answer["failed"], answer["code"])
        return Outcome(json.dumps(answer["results"]), answer["logs"])

    async def _start(self) -> None:
        self._worker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bascule.gateways.quantum.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C is for us; we end it ourselves
        )
        try:
            async with asyncio.timeout(STARTS_WITHIN):
                ready = await self._read()
        except (TimeoutError, EOFError, OSError) as error:
            await self._stop()
            raise Mistake("the simulator does not start", hint="what it said stands above") from error
        if "missing" in ready:
            await self._stop()
            raise Mistake(
                f"the gateway needs Qiskit Aer, which is not installed ({ready['missing']})",
                hint="pip install 'bascule[quantum]'",
            )
        self.version = ready["version"]

    async def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self._worker is not None  # noqa: S101 - it was started above
        assert self._worker.stdin is not None  # noqa: S101 - it was asked for
        self._worker.stdin.write(framed(message))
        await self._worker.stdin.drain()
        return await self._read()

    async def _read(self) -> dict[str, Any]:
        assert self._worker is not None  # noqa: S101 - as above
        assert self._worker.stdout is not None  # noqa: S101 - as above
        head = await self._worker.stdout.readexactly(HEAD)
        answer: dict[str, Any] = json.loads(await self._worker.stdout.readexactly(length_in(head)))
        return answer

    async def _stop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is None:
            return
        with contextlib.suppress(ProcessLookupError):
            worker.kill()
        await asyncio.shield(worker.wait())
