"""
Asking LSF to change a job: its commands, run for the user by Application Center.

Before anything is asked of a job it is looked at: an id may be a stranger's by now. What a
command prints is judged by LSF's own sentences, and in doubt by another look at the job.
"""

from __future__ import annotations

import re
import time
from datetime import timedelta

from bascule.errors import Mistake, Refused
from bascule.managers.lsf.center import Center, Said
from bascule.managers.lsf.description import minutes_of
from bascule.managers.lsf.observing import Observer
from bascule.managers.lsf.records import Record
from bascule.managers.lsf.reporting import Reporter, is_of
from bascule.managers.lsf.states import HELD, SUSPENDED, WAITS, is_over, kind_of
from bascule.model import Handle

JUST_NOW = 0.5
"""Seconds for which an id that LSF gave us is ours without a look."""
SIGNAL = re.compile(r"(?:SIG)?([A-Z0-9]{2,10})")
_DONE = re.compile(
    r"is being (?:terminated|killed|resumed|stopped|signal+ed|suspended|requeued)|parameters of .* (?:are being )?changed|request (?:is )?(?:accepted|sent)",
    re.IGNORECASE,
)
_OVER = re.compile(r"already (?:finished|ended|terminated)|no matching job|no such job", re.IGNORECASE)


class Changer:
    """Changes one user's jobs at one Application Center."""

    def __init__(self, center: Center, reporter: Reporter, observer: Observer) -> None:
        self._center = center
        self._reporter = reporter
        self._observer = observer
        self._given: dict[str, tuple[str, float]] = {}

    def note_submitted(self, handle: Handle) -> None:
        """Remember for a moment that the id of *handle* was given to us just now."""
        now = time.monotonic()
        self._given = {id_: given for id_, given in self._given.items() if now - given[1] < JUST_NOW}
        self._given[handle.id] = (handle.key, now)

    async def cancel(self, handle: Handle, index: int | None = None) -> None:
        """End the job, or one task; one that is over is no error."""
        records = await self._ours(handle, index)
        if all(is_over(record) for record in records):
            return
        number = handle.id if index is None else f"{handle.id}[{index}]"
        self._observer.forget(handle)
        self._reporter.note_asked(number, handle.key or records[0].key)
        said = await self._command("bkill", number, what=f"to end job `{number}`")
        if self._is_done(said) or _OVER.search(f"{said.words} {said.trouble}"):
            return
        if not all(is_over(record) for record in await self._ours(handle, index)):
            raise self._refused(f"would not end job `{number}`", said)

    async def signal(self, handle: Handle, name: str) -> None:
        """Send a signal to all of the job."""
        matched = SIGNAL.fullmatch(name.upper())
        if matched is None:
            raise Mistake(f"`{name}` is no name of a signal", hint="for instance `USR1`")
        records = await self._ours(handle)
        if not records or all(is_over(record) for record in records):
            raise Refused(f"{self._center.where} has no job `{handle.id}` that a signal could be sent to")
        said = await self._command("bkill -s", f"{matched[1]} {handle.id}", what=f"to send {name} to job `{handle.id}`")
        self._must_be_done(said, f"would not send {name} to job `{handle.id}`")

    async def update(self, handle: Handle, walltime: timedelta) -> None:
        """Change the walltime."""
        minutes = minutes_of(walltime.total_seconds())
        if not await self._ours(handle):
            raise Refused(f"{self._center.where} has no job `{handle.id}` any more")
        self._observer.forget(handle)
        what = f"to change the walltime of job `{handle.id}`"
        said = await self._command("bmod -W", f"{minutes} {handle.id}", what=what)
        self._must_be_done(said, f"would not change the walltime of job `{handle.id}`")

    async def hold(self, handle: Handle) -> None:
        """Keep a waiting job from starting."""
        records = await self._ours(handle)
        kinds = {kind_of(record) for record in records}
        if kinds == {HELD}:
            return
        if WAITS not in kinds:
            raise Refused(f"{self._center.where} cannot hold job `{handle.id}`: it no longer waits")
        self._observer.forget(handle)
        said = await self._command("bstop", handle.id, what=f"to hold job `{handle.id}`")
        self._must_be_done(said, f"would not hold job `{handle.id}`")

    async def release(self, handle: Handle) -> None:
        """Let a held job go; one that is not held is let alone."""
        key, at = self._given.pop(handle.id, ("", 0.0))
        if key != handle.key or time.monotonic() - at > JUST_NOW:
            records = await self._ours(handle)
            kinds = {kind_of(record) for record in records}
            if not records or all(is_over(record) for record in records):
                raise Refused(f"{self._center.where} has no job `{handle.id}` that waits")
            if not kinds & {HELD, SUSPENDED}:
                return
        self._observer.forget(handle)
        said = await self._command("bresume", handle.id, what=f"to release job `{handle.id}`")
        if self._is_done(said):
            return
        kinds = {kind_of(record) for record in await self._ours(handle)}
        if not kinds or kinds & {HELD, SUSPENDED}:
            raise self._refused(f"would not release job `{handle.id}`", said)

    async def _ours(self, handle: Handle, index: int | None = None) -> list[Record]:
        """Return what LSF has of the job, if it is ours; raise `Refused` where the id is a stranger's."""
        if not handle.id.isdecimal():
            raise Refused(f"`{handle.id}` is no id of a job of LSF")
        records = (await self._center.details([handle.id])).records
        ours = [record for record in records if is_of(record, handle)]
        if records and not ours:
            stranger = records[0]
            raise Refused(
                f"job `{handle.id}` at {self._center.where} is not ours: it is `{stranger.name}` of `{stranger.user}`"
            )
        tasks = [record for record in ours if record.index == index]
        return tasks or [record for record in ours if record.index is None] if index is not None else ours

    async def _command(self, command: str, rest: str, *, what: str) -> Said:
        return await self._center.command(f"{command} {rest}", what=what)

    @staticmethod
    def _is_done(said: Said) -> bool:
        words = f"{said.words} {said.trouble}"
        if _DONE.search(words):
            return True
        return not said.trouble and not _OVER.search(words) and not said.words

    def _must_be_done(self, said: Said, refusal: str) -> None:
        if not self._is_done(said):
            raise self._refused(refusal, said)

    def _refused(self, what: str, said: Said) -> Refused:
        words = said.trouble or said.words or "it does not say why"
        return Refused(f"{self._center.where} {what}: {words[:300]}")
