"""
Sessions and batches: opened when a job first needs one, closed in every ending.

One of a job's own is closed when the job is over; one with a name, which several jobs share,
when the job is over that says it is the last. Each is written down before a job joins it, so that
one whose job never came, or whose last job never ran, is found by the sweep and closed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from bascule.errors import Error, Refused, Unavailable, Uncertain
from bascule.journal import Logger
from bascule.managers.quantum.options import SessionOption, seconds
from bascule.managers.quantum.rest import Rest, expected, refused, segment
from bascule.managers.quantum.service import Service
from bascule.managers.quantum.wire import SessionRecord
from bascule.ports import Clock

IDLE = 900.0
"""Seconds after which a session without a job that waits or runs is closed, counted from its last submit."""
log = Logger(__name__)


class Kept(msgspec.Struct, frozen=True):
    """What is written down of a session."""

    id: str
    backend: str
    mode: str
    used_at: float
    is_shared: bool = False


class Sessions:
    """The sessions that we have opened at one target, written down in *folder*."""

    def __init__(self, service: Service, folder: Path, clock: Clock) -> None:
        self._service = service
        self._rest: Rest = service.rest
        self._folder = folder
        self._clock = clock
        self._opening = asyncio.Lock()

    async def enter(self, wanted: SessionOption, *, key: str, backend: str) -> str:
        """Return the id of the session that a job of *key* is to join, opened if it has to be."""
        name = wanted.name or key
        async with self._opening:
            kept = self._read(name)
            if kept is not None and await self._takes_jobs(kept, wanted, backend):
                self._write(name, msgspec.structs.replace(kept, used_at=self._now()))
                return kept.id
            opened = Kept(
                await self._open(wanted, backend), backend, wanted.mode, self._now(), is_shared=wanted.name is not None
            )
            self._write(name, opened)
            return opened.id

    def backend_of(self, name: str) -> str | None:
        """Return the backend of a session that is written down: jobs that join it go there."""
        kept = self._read(name)
        return kept.backend if kept is not None else None

    async def leave(self, session_id: str) -> None:
        """Close a session; one that is closed or gone is no error."""
        answer = await self._rest.change(
            "PATCH", f"/sessions/{segment(session_id)}", {"accepting_jobs": False}, what="the end of a session"
        )
        if answer.status >= 400 and answer.status not in (404, 409):
            raise refused(self._rest, f"would not close session `{session_id}`", answer)
        self._forget(session_id)

    async def drop(self, session_id: str) -> None:
        """Close a session of which no job came; what goes wrong is left for the sweep."""
        try:
            await self.leave(session_id)
        except Error as trouble:
            log.warning("quantum.session_left_open", session=session_id, error=trouble.message)

    async def sweep(self) -> None:
        """Close what nobody uses any more."""
        for kept in list(self._all()):
            if self._now() - kept.used_at < IDLE:
                continue
            if not await self._service.jobs(session_id=kept.id, pending="true"):
                log.info("quantum.idle_session_closed", session=kept.id)
                await self.drop(kept.id)

    async def _takes_jobs(self, kept: Kept, wanted: SessionOption, backend: str) -> bool:
        if kept.backend != backend or kept.mode != wanted.mode:
            if not kept.is_shared:
                return False
            raise Refused(
                f"the session `{wanted.name}` is a {kept.mode} session on `{kept.backend}`, not a {wanted.mode} one on `{backend}`",
                hint="let all jobs of a session name the same backend and mode, or name another session",
            )
        answer = await self._rest.get(f"/sessions/{segment(kept.id)}")
        if answer.status == 404:
            return False
        return expected(self._rest, answer, f"of session `{kept.id}`").read(SessionRecord).takes_jobs

    async def _open(self, wanted: SessionOption, backend: str) -> str:
        body: dict[str, object] = {"mode": wanted.mode, "backend": backend, "instance": self._rest.instance}
        if (most := seconds(wanted.max_time)) is not None:
            body["max_ttl"] = most
        try:
            answer = await self._rest.change("POST", "/sessions", body, what="the opening of a session")
        except Uncertain as doubt:
            # An empty session costs nothing and ends by itself; of a job nothing was sent yet.
            raise Unavailable(doubt.message, hint=doubt.hint) from doubt
        if answer.status >= 400:
            raise refused(self._rest, f"would open no session on `{backend}`", answer)
        opened = answer.read(SessionRecord)
        if not opened.id:
            raise Refused(f"{self._rest.where} opened a session without saying which")
        return opened.id

    # What is written down

    def _read(self, name: str) -> Kept | None:
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode((self._folder / f"{name}.json").read_bytes(), type=Kept)
        return None

    def _write(self, name: str, kept: Kept) -> None:
        beside = self._folder / f".{name}.{os.getpid()}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside.write_bytes(msgspec.json.encode(kept))
            beside.replace(self._folder / f"{name}.json")
        except OSError as error:
            raise Unavailable(
                f"the session `{kept.id}` cannot be written down in `{self._folder}`: {error.strerror}",
                hint="is the disk full?",
            ) from error

    def _all(self) -> Iterator[Kept]:
        for file in sorted(self._folder.glob("*.json")):
            if (kept := self._read(file.stem)) is not None:
                yield kept

    def _forget(self, session_id: str) -> None:
        for file in self._folder.glob("*.json"):
            kept = self._read(file.stem)
            if kept is not None and kept.id == session_id:
                file.unlink(missing_ok=True)

    def _now(self) -> float:
        return self._clock.now().timestamp()
