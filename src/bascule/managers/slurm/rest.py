"""
One request to slurmrestd and its answer, with everything that can go wrong told truthfully.

Knows how slurmrestd signs in and fails, and nothing of jobs. Error numbers decide before
status codes do: versions up to 25.11 answer 500 to most refusals.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import urlencode

import msgspec

from bascule.clients.asking import Answer as HttpAnswer
from bascule.clients.asking import Request
from bascule.errors import Error, Refused, Unavailable, Uncertain
from bascule.managers.slurm.credentials import SignIn
from bascule.managers.slurm.wire import DeletedJob, Envelope, Trouble, decode, integer

T = TypeVar("T")

JOB_HELD = 2042
NO_SUCH_JOB = 2017
ALREADY_OVER = frozenset({2021, 2084, NO_SUCH_JOB})
ACCESS_DENIED = 2002
INVALID_PARTITION = 2000
NOTHING_FOUND = 9003
NOT_SIGNED_IN = frozenset({1007, 6010})
ZERO_BYTES = 5005
OUT_OF_REACH = frozenset({*range(1000, 1007), *range(1800, 1810), *range(5000, 5010), 7000, 7001, 7002})
"""Errors between slurmrestd and slurmctld or slurmdbd."""
TRY_LATER = frozenset({1804})
"""slurmctld's limit of requests (`rl_enable`)."""
LARGEST_ANSWER = 32 << 20
LARGEST_LIST = 256 << 20
ANSWER_WITHIN = 60.0
"""Longer than slurmctld's own patience (`MessageTimeout`), so that it is slurmrestd that gives up first."""
LIST_WITHIN = 120.0
BACK_OFF = 10.0
AT_ONCE = 2.0
"""Seconds within which 22.05 refuses a token; for a slurmctld that is not there it tries for longer."""
# slurmrestd 22.05 answers `Connection: close` with that line once more, behind the body.
HEADERS = {"Accept": "application/json", "Connection": "keep-alive"}
# The statuses that slurmrestd gives a body of its own; the others are the client's to judge.
TAKES = frozenset({304, *range(400, 600)}) - {408, 421, 425, 429, 503}

Query = Sequence[tuple[str, object]]


class Http(Protocol):
    """`HttpClient`, and nothing else of it."""

    async def ask(self, request: Request) -> HttpAnswer:
        """Ask once."""

    def leave_alone(self, seconds: float) -> None:
        """Ask nothing for so long."""

    async def aclose(self) -> None:
        """Close connections."""


class Vague(Unavailable):
    """22.05 says the same of a token that it does not accept as of a slurmctld that is not there."""


class Doubtful(Uncertain):
    """22.05 says the same of a token that it does not accept as of a slurmctld that fell silent half-way."""


class Answer(NamedTuple):
    """An answer that was read; *unchanged* is the empty 304 of v0.0.38."""

    status: int
    envelope: Envelope
    body: bytes
    unchanged: bool = False

    def read(self, wanted: type[T]) -> T:
        """Return the matter; raise `Unavailable` where it is malformed. For answers that changed nothing."""
        try:
            return decode(self.body, wanted)
        except (ValueError, msgspec.DecodeError) as wrong:
            raise Unavailable(f"slurmrestd sent an answer that cannot be read ({wrong})"[:300]) from wrong

    @property
    def codes(self) -> frozenset[int]:
        """The numbers of all errors, those of single jobs too."""
        codes = {error.code for error in self.envelope.errors}
        if isinstance(self.envelope.status, list):
            codes |= {integer(job.error.code) for job in self.envelope.status if job.error}
        return frozenset(code for code in codes if code)

    @property
    def words(self) -> str:
        """Slurm's own words about what went wrong."""
        said = [error.words for error in self.envelope.errors]
        if isinstance(self.envelope.status, list):
            said += [_words_of(job.error) for job in self.envelope.status if job.error]
        return "; ".join(dict.fromkeys(word for word in said if word)) or f"HTTP status {self.status}"

    @property
    def ignored(self) -> list[str]:
        """Fields that slurmrestd dropped, and says so in a warning only."""
        return [
            warning.description
            for warning in self.envelope.warnings
            if warning.description and "unknown field" in warning.description.lower()
        ]


class Rest:
    """slurmrestd at one address, under one sign-in."""

    def __init__(self, http: Http, sign_in: SignIn, url: str) -> None:
        self._http = http
        self._sign_in = sign_in
        self.where = f"slurmrestd at `{url}`"

    @property
    def user(self) -> str:
        """Whose jobs these are; known once a request was made, if the target does not say it."""
        return self._sign_in.user

    async def get(self, path: str, query: Query = (), *, large: bool = False) -> Answer:
        """Ask for something; a failure is `Unavailable`. *large*: the answer may have all jobs of the cluster."""
        began = time.monotonic()
        try:
            return self._judged(await self._send("GET", path, query, None, large=large), changes=False)
        except Vague as vague:
            raise self._clearly(vague, time.monotonic() - began) from vague

    async def change(self, method: str, path: str, body: object = None, query: Query = ()) -> Answer:
        """Ask to change something; a doubt is `Uncertain`. What Slurm itself refuses is for the caller to see."""
        sent = msgspec.json.encode(body) if body is not None else None
        return self._judged(await self._send(method, path, query, sent), changes=True)

    async def knows(self, path: str, query: Query = ()) -> Answer | None:
        """Ask for something; None where slurmrestd has no such path."""
        began = time.monotonic()
        answer = await self._send("GET", path, query, None)
        if answer.status == 404 and _envelope(answer.body) is None:
            return None
        try:
            return self._judged(answer, changes=False)
        except Vague as vague:
            raise self._clearly(vague, time.monotonic() - began) from vague

    def _clearly(self, vague: Vague, took: float) -> Unavailable:
        """Tell a bad sign-in, which is refused at once, from a silent slurmctld, which is waited for."""
        if took > AT_ONCE:
            return vague
        return self._sign_in.refused(self.where, vague.message.rpartition("Slurm: ")[2])

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()

    async def _send(
        self, method: str, path: str, query: Query, body: bytes | None, *, large: bool = False
    ) -> HttpAnswer:
        # Lists are repeated names: slurmrestd takes neither a comma nor its escape in a query.
        target = f"{path}?{urlencode(query)}" if query else path
        most, within = (LARGEST_LIST, LIST_WITHIN) if large else (LARGEST_ANSWER, ANSWER_WITHIN)
        request = Request(method, target, headers=HEADERS, body=body, takes=TAKES, max_bytes=most, within=within)
        return await self._http.ask(request)

    def _judged(self, answer: HttpAnswer, *, changes: bool) -> Answer:
        """Return the answer, or raise what it says about the way to Slurm."""
        if answer.status == 304:
            return Answer(304, Envelope(), b"", unchanged=True)
        envelope = _envelope(answer.body)
        if answer.status == 401:
            raise self._sign_in.refused(self.where, "it does not accept the token")
        if envelope is None:
            raise self._unreadable(answer, changes=changes)
        self._look_at(answer.status, envelope.errors, changes=changes)
        return Answer(answer.status, envelope, answer.body)

    def _look_at(self, status: int, errors: list[Trouble], *, changes: bool) -> None:
        codes = {error.code for error in errors if error.code is not None}
        words = "; ".join(dict.fromkeys(error.words for error in errors if error.words)) or f"HTTP status {status}"
        if status == 511 or codes & NOT_SIGNED_IN:
            raise self._sign_in.refused(self.where, words)
        if codes & TRY_LATER or any(sign in words.lower() for sign in ("backoff", "rate limit")):
            self._http.leave_alone(BACK_OFF)
            raise Unavailable(f"{self.where} asks to be left alone for a while: {words}", retry_after=BACK_OFF)
        if status < 400:
            return
        if status == 500 and not changes and (ZERO_BYTES in codes or codes == {-1}):
            raise Vague(f"{self.where} cannot reach Slurm: {words}", hint="is slurmctld running?")
        if status == 500 and changes and ZERO_BYTES in codes:
            raise Doubtful(f"{self.where} got no answer from Slurm: {words}")
        if status in {502, 504} or codes & OUT_OF_REACH:
            kind = Uncertain if changes else Unavailable
            raise kind(f"{self.where} cannot reach Slurm: {words}", hint="is slurmctld running?")
        if status >= 500 and not codes:
            kind = Uncertain if changes else Unavailable
            raise kind(f"{self.where} failed: {words}")

    def _unreadable(self, answer: HttpAnswer, *, changes: bool) -> Error:
        said = answer.body[:200].decode(errors="replace").strip()
        if answer.status == 404:
            return Unavailable(
                f"{self.where} does not know this version of the API any more", hint="was it upgraded just now?"
            )
        if 400 <= answer.status < 500:
            return Refused(f"{self.where} refused the request with status {answer.status}: {said}")
        kind = Uncertain if changes else Unavailable
        return kind(f"{self.where} gave an answer with status {answer.status} that cannot be read: {said!r}")


def _envelope(body: bytes) -> Envelope | None:
    try:
        return decode(body, Envelope)
    except (ValueError, msgspec.DecodeError):
        return None


def _words_of(error: DeletedJob.Error) -> str:
    return error.string or error.message or ""
