"""
Submitting a job: once, after everything has been looked at that would fail it later.

Whatever the service answers that is neither a yes nor a clear no is looked into by the job's
key, since it may have taken the job all the same.
"""

from __future__ import annotations

import asyncio
import math

from bascule.errors import Error, Mistake, Refused, Unavailable, Uncertain
from bascule.managers.quantum.backends import AGAIN_IN, Offline, choose
from bascule.managers.quantum.finding import Finder
from bascule.managers.quantum.fitting import check_fit
from bascule.managers.quantum.note import Note, tags_of
from bascule.managers.quantum.options import TargetOptions, transpile_of
from bascule.managers.quantum.pacing import WINDOW, Turnstile
from bascule.managers.quantum.rest import Answer, Rest, refused
from bascule.managers.quantum.service import Service
from bascule.managers.quantum.sessions import Sessions
from bascule.managers.quantum.transpiling import require_qiskit, transpiled
from bascule.managers.quantum.wire import Configuration, Taken
from bascule.managers.quantum.work import Wanted, body_of, wanted_by
from bascule.model import Found, Handle, Job
from bascule.ports import Clock, Order

SESSION_CLOSED = "1217"
TOO_LATE = 30.0
"""Seconds from the decision to submit, waits for a turn apart, after which nothing is sent: it may have been taken elsewhere."""


class Submitter:
    """Submits jobs to one instance."""

    def __init__(
        self,
        service: Service,
        sessions: Sessions,
        finder: Finder,
        turnstile: Turnstile,
        options: TargetOptions,
        clock: Clock,
    ) -> None:
        self._service = service
        self._rest: Rest = service.rest
        self._sessions = sessions
        self._finder = finder
        self._turnstile = turnstile
        self._options = options
        self._clock = clock
        self._away_until = -math.inf

    def check(self, job: Job) -> None:
        """Raise `Mistake` where the service cannot take *job*; one that is adopted is there already."""
        if job.spec.adopt is not None:
            return
        wanted = wanted_by(job, self._options)
        if transpile_of(wanted.options) is not None:
            require_qiskit(job.name)

    async def submit(self, order: Order) -> Handle:
        """Submit once; `Manager.submit`."""
        if order.held:
            raise Mistake(
                "the manager `quantum` cannot hold jobs, so it submits none held", hint="submit it without the hold"
            )
        wanted = wanted_by(order.job, self._options)
        began = self._clock.monotonic() + await self._until_back()
        backend = await self._backend(wanted, order.job.name)
        wanted = await self._fitted(wanted, backend, order.job.name)
        began += await self._turnstile.turn()
        session = wanted.options.session
        if session is None:
            return await self._send(order, wanted, backend.backend_name, Note(), began)
        joined = await self._sessions.enter(session, key=order.key, backend=backend.backend_name)
        note = Note(joined, session.name is None or session.last)
        try:
            return await self._send(order, wanted, backend.backend_name, note, began)
        except Uncertain:
            raise  # the job may be there, and closes its session itself
        except Error:
            if session.name is None:
                await self._sessions.drop(joined)
            raise

    async def _until_back(self) -> float:
        """Wait until a device that was away may be asked for again; return for how long that was meant to be."""
        wait = max(0.0, self._away_until - self._clock.monotonic())
        if wait:
            await self._clock.sleep(wait)
        return wait

    async def _backend(self, wanted: Wanted, job: str) -> Configuration:
        session, name = wanted.options.session, wanted.options.backend
        if name is None and session is not None and session.name is not None:
            name = self._sessions.backend_of(session.name)
        try:
            return await choose(self._service, name, width=wanted.width, job=job)
        except Offline:
            self._away_until = self._clock.monotonic() + AGAIN_IN
            raise

    async def _fitted(self, wanted: Wanted, backend: Configuration, job: str) -> Wanted:
        """Return *wanted* as it can run on *backend*; raise `Refused` where it cannot."""
        most = backend.max_shots
        shots = max((pub[2] for pub in wanted.params["pubs"]), default=0) if wanted.program == "sampler" else 0
        if most is not None and shots > most:
            raise Refused(
                f"job `{job}`: {shots:,} shots are more than `{backend.backend_name}` takes ({most:,})",
                hint="give the circuit in several pubs",
            )
        how = transpile_of(wanted.options)
        if how is None:
            check_fit(wanted.circuits, backend, job=job)
            return wanted
        params = await asyncio.to_thread(transpiled, wanted.program, wanted.params, backend, how, job)
        return wanted._replace(params=params)

    async def _send(self, order: Order, wanted: Wanted, backend: str, note: Note, began: float) -> Handle:
        if (late := self._clock.monotonic() - began) > TOO_LATE:
            # A process that was frozen meanwhile may have a successor, which has looked for the job and found none.
            raise Unavailable(
                f"job `{order.job.name}` was not sent: {late:.0f} s had passed since that was decided",
                hint="was this process stopped, or is the service slow? It is tried again",
                retry_after=1.0,
            )
        body = body_of(
            wanted, backend=backend, tags=tags_of(order.key, closes=note.closes), session=note.session or None
        )
        answer = await self._rest.submit(body, what=f"the submit of job `{order.job.name}`")
        if answer.status < 300:
            taken = answer.read(Taken)
            if not taken.id:
                raise Uncertain(f"{self._rest.where} took job `{order.job.name}` without saying under which id")
            return Handle(taken.id, order.key, place=note.written())
        if answer.status in (408, 409, 425, 429, 503):
            found = await self._look(order, answer)
            if isinstance(found, Found):
                return found.matches[0].handle
        raise self._refusal(order, answer, note)

    async def _look(self, order: Order, answer: Answer) -> object:
        """Look whether the job was taken in spite of *answer*."""
        try:
            return await self._finder.find(order.key, self._clock.now())
        except Error as trouble:
            raise Uncertain(
                f"{self._rest.where} answered the submit of job `{order.job.name}` with {answer.status}, "
                f"and does not tell whether it has it: {trouble.message}"
            ) from trouble

    def _refusal(self, order: Order, answer: Answer, note: Note) -> Error:
        name = order.job.name
        match answer.status:
            case 429:
                pause = _retry_after(answer)
                self._turnstile.close_for(pause)
                return Unavailable(
                    f"{self._rest.where} takes no more jobs for now: {answer.words}",
                    hint=f"the next submit is in {pause:.0f} s",
                    retry_after=pause,
                )
            case 409:
                return refused(
                    self._rest,
                    f"refused job `{name}`",
                    answer,
                    hint="the instance has no time left, as a rule: raise its limit, or wait for its next period",
                )
            case 408 | 425 | 503:
                return Uncertain(f"{self._rest.where} failed at the submit of job `{name}`: {answer.words}")
            case 400 if note.session and SESSION_CLOSED in answer.codes:
                return Unavailable(
                    f"{self._rest.where} has closed session `{note.session}` before job `{name}` could join it",
                    hint="the next try opens another",
                    retry_after=1.0,
                )
        return refused(self._rest, f"refused job `{name}`", answer)


def _retry_after(answer: Answer) -> float:
    try:
        return min(max(float(answer.http.headers.get("retry-after", "")), 1.0), 3600.0)
    except ValueError:
        return WINDOW
