"""
Asking slurmctld to change a job: end it, signal it, hold it, update it.

Before anything is asked of a job it is looked at: an id may be a stranger's by now, and
asking slurmctld 24.11 to end a job that is not the caller's can deadlock it.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from datetime import timedelta

from bascule.errors import Error, Mistake, Refused, Unauthorized, Unavailable, Uncertain
from bascule.managers.slurm.answers import is_of
from bascule.managers.slurm.cluster import Cluster
from bascule.managers.slurm.discovery import FAR_FUTURE, Discovery, Facts
from bascule.managers.slurm.note import note_from
from bascule.managers.slurm.observing import Observer
from bascule.managers.slurm.records import Record
from bascule.managers.slurm.rest import ACCESS_DENIED, ALREADY_OVER, NO_SUCH_JOB, Answer, Doubtful, Rest
from bascule.managers.slurm.rewound import Rewinds
from bascule.model import Handle
from bascule.ports import Clock

JUST_NOW = 0.5
"""
Seconds for which an id that slurmctld gave us is ours without a look: less than it takes to
be killed, started anew and to give the id to another. The look would cost a release twice its time.
"""
SIGNAL = re.compile(r"(?:SIG)?([A-Z0-9+-]{2,12})")


class Changer:
    """Changes one user's jobs at one cluster."""

    def __init__(
        self,
        rest: Rest,
        discovery: Discovery,
        cluster: Cluster,
        observer: Observer,
        rewinds: Rewinds,
        clock: Clock,
    ) -> None:
        self._rest = rest
        self._discovery = discovery
        self._cluster = cluster
        self._observer = observer
        self._rewinds = rewinds
        self._clock = clock
        self._given: dict[str, tuple[str, float]] = {}

    def note_submitted(self, handle: Handle) -> None:
        """Remember for a moment that the id of *handle* was given to us just now."""
        now = time.monotonic()
        self._given.pop(handle.id, None)
        self._given[handle.id] = (handle.key, now)
        while now - next(iter(self._given.values()))[1] > JUST_NOW:
            del self._given[next(iter(self._given))]

    async def cancel(self, handle: Handle, index: int | None = None) -> None:
        """End the job, or one task; one that is over is no error."""
        records = await self._ours(handle)
        if not records:
            return
        self._observer.forget(handle)
        number = handle.id if index is None else f"{handle.id}_{index}"
        answer = await self.change("DELETE", f"job/{number}")
        if answer.codes <= ALREADY_OVER:
            if answer.status >= 500 and not answer.codes:
                raise Uncertain(f"{self._rest.where} failed at ending job `{number}`: {answer.words}")
            return
        raise self._refused(f"would not end job `{number}`", answer)

    async def signal(self, handle: Handle, name: str) -> None:
        """Send a signal to all of the job."""
        matched = SIGNAL.fullmatch(name.upper())
        if matched is None:
            raise Mistake(f"`{name}` is no name of a signal", hint="for instance `USR1`")
        if not await self._ours(handle):
            raise Refused(f"{self._rest.where} has no job `{handle.id}` that a signal could be sent to")
        answer = await self.change("DELETE", f"job/{handle.id}", query=[("signal", matched[1])])
        if answer.codes or answer.status >= 400:
            raise self._refused(f"would not send {name} to job `{handle.id}`", answer)

    async def update(self, handle: Handle, walltime: timedelta) -> None:
        """Change the walltime."""
        facts = await self._discovery.facts()
        minutes = max(1, math.ceil(walltime.total_seconds() / 60))
        limit: object = minutes if facts.shape.old else {"set": True, "infinite": False, "number": minutes}
        await self._update(handle, {"time_limit": limit}, f"would not change the walltime of job `{handle.id}`")

    async def set_hold(self, handle: Handle, *, hold: bool) -> None:
        """Hold a waiting job, or let it go."""
        what = "hold" if hold else "release"
        await self._update(handle, {"hold": hold}, f"would not {what} job `{handle.id}`")

    async def change(
        self, method: str, rest: str, body: object = None, query: Sequence[tuple[str, object]] = ()
    ) -> Answer:
        """Ask for a change; raise `Uncertain` where it may have happened, `Unauthorized` where it was the sign-in."""
        facts = await self._discovery.facts()
        try:
            return await self._rest.change(method, facts.shape.path(rest), body, query)
        except Doubtful as doubt:
            await self._clear_up(facts)
            raise Uncertain(doubt.message, hint=doubt.hint) from doubt
        except Unavailable:
            self._discovery.forget()
            raise

    async def _clear_up(self, facts: Facts) -> None:
        """Raise `Unauthorized` where the sign-in is what is wrong: the same question again that changes nothing."""
        try:
            await self._rest.get(facts.shape.path("jobs"), [("update_time", FAR_FUTURE)])
        except Unauthorized:
            raise
        except Error:
            return

    async def _ours(self, handle: Handle) -> list[Record]:
        """Return what slurmctld has of the job, if it is ours; raise `Refused` where the id is a stranger's."""
        if not handle.id.isdecimal():
            raise Refused(f"`{handle.id}` is no id of a Slurm job")
        records = await self._cluster.live_one(handle.id)
        ours = [
            record for record in records if record.user == self._rest.user and (not handle.key or is_of(record, handle))
        ]
        if records and not ours:
            stranger = records[0]
            raise Refused(
                f"job `{handle.id}` at {self._rest.where} is not ours: it is `{stranger.name}` of `{stranger.user}`"
            )
        return ours

    async def _update(self, handle: Handle, fields: dict[str, object], refusal: str) -> None:
        is_new = self._is_new(handle)
        records = [] if is_new else await self._ours(handle)
        if not records and not is_new:
            raise Refused(f"{self._rest.where} {refusal}: it does not have it any more")
        self._observer.forget(handle)
        if fields.get("hold") is False and await self._rewinds.has_run(handle, records, self._clock.now()):
            raise Refused(
                f"job `{handle.id}` at {self._rest.where} is not released: it ran before, and slurmctld has forgotten that"
            )
        # The fields stand alone: within `{"job": ...}` slurmrestd takes them with a warning, and does nothing.
        answer = await self.change("POST", f"job/{handle.id}", fields)
        errors = answer.envelope.errors
        if answer.ignored:
            raise Refused(f"{self._rest.where} {refusal}: {'; '.join(answer.ignored)}")
        if answer.status < 400 and not errors:
            return
        if answer.status < 400 and any(record.array for record in records) and not answer.codes:
            # 22.05 answers an update of an array with an error without a number, also when it was done.
            if await self._has_hold(handle, fields):
                return
            raise Uncertain(f"{self._rest.where} does not say whether it was done: {answer.words}")
        raise self._refused(refusal, answer)

    def _is_new(self, handle: Handle) -> bool:
        """Tell whether *handle* is that of a single job that was submitted just now."""
        key, at = self._given.get(handle.id, ("", 0.0))
        return key == handle.key and time.monotonic() - at < JUST_NOW and not note_from(handle.place).array

    async def _has_hold(self, handle: Handle, fields: dict[str, object]) -> bool:
        if "hold" not in fields:
            return True
        records = await self._cluster.live_one(handle.id)
        waiting = [record for record in records if "PENDING" in record.words]
        held = [record for record in waiting if record.hold or record.reason == "JobHeldUser"]
        return len(held) == len(waiting) if fields["hold"] else not held

    def _refused(self, what: str, answer: Answer) -> Error:
        if answer.status >= 500 and not answer.codes:
            return Uncertain(f"{self._rest.where} {what}: {answer.words}")
        hint = "may this user change this job?" if ACCESS_DENIED in answer.codes else ""
        if NO_SUCH_JOB in answer.codes:
            hint = "slurmctld does not have it any more"
        return Refused(f"{self._rest.where} {what}: {answer.words}", hint=hint)
