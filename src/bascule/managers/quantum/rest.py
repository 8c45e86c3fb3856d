"""
One request to the service and its answer, with everything that can go wrong told truthfully.

Knows how the service signs in and refuses, and nothing of jobs. No request is ever made
twice: the official client's own retries of a submit have left several jobs behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from bascule.clients.asking import Answer as HttpAnswer
from bascule.clients.asking import Request
from bascule.errors import Mistake, Refused, Unauthorized, Unavailable
from bascule.managers.quantum.iam import Http
from bascule.managers.quantum.wire import Fault, Faults

T = TypeVar("T")
LARGEST_ANSWER = 32 << 20
LARGEST_RESULT = 256 << 20
ANSWER_WITHIN = 60.0
RESULT_WITHIN = 300.0
SUBMIT_WITHIN = 300.0
"""Circuits may be large; the official client waits for a quarter of an hour."""
IN_DOUBT = frozenset({408, 425, 429, 503})
"""What other requests may take for "not done", and a submit may not: the service can have taken it."""
LONGEST_WORDS = 400


class Answer(NamedTuple):
    """An answer, with what the service says in it where it refuses."""

    status: int
    faults: list[Fault]
    http: HttpAnswer

    @property
    def words(self) -> str:
        """The service's own words."""
        said = "; ".join(" ".join(fault.message.split()).rstrip(".") for fault in self.faults if fault.message)
        return self.http.passage.secrets.clean(said, LONGEST_WORDS) or f"HTTP status {self.status}"

    @property
    def codes(self) -> frozenset[str]:
        """The numbers of its errors."""
        return frozenset(str(fault.code) for fault in self.faults if fault.code is not None)

    def read(self, wanted: type[T]) -> T:
        """Read the matter; what cannot be read is as no answer."""
        return self.http.read(wanted)


class Rest:
    """The service at one address, for one instance."""

    def __init__(self, http: Http, instance: str, api_version: str, url: str) -> None:
        self._http = http
        self._headers = {"Service-CRN": instance, "IBM-API-Version": api_version, "Accept": "application/json"}
        self.instance = instance
        self.where = f"the quantum service at `{url}`"

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, large: bool = False) -> Answer:
        """Ask for something; a failure is `Unavailable`. *large*: the answer may be a result."""
        return await self._ask(
            Request(
                "GET",
                path,
                query=query or {},
                headers=self._headers,
                max_bytes=LARGEST_RESULT if large else LARGEST_ANSWER,
                within=RESULT_WITHIN if large else ANSWER_WITHIN,
            )
        )

    async def change(self, method: str, path: str, body: object = None, *, what: str = "") -> Answer:
        """Ask to change something; a doubt is `Uncertain`. What the service refuses is for the caller to see."""
        sent = msgspec.json.encode(body) if body is not None else None
        return await self._ask(Request(method, path, headers=self._headers, body=sent, what=what, within=ANSWER_WITHIN))

    async def submit(self, body: object, *, what: str) -> Answer:
        """Submit: what is `Unavailable` elsewhere comes back as an answer, for the caller to look into."""
        return await self._ask(
            Request(
                "POST",
                "/jobs",
                headers=self._headers,
                body=msgspec.json.encode(body),
                what=what,
                within=SUBMIT_WITHIN,
                takes=IN_DOUBT,
            )
        )

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()

    async def _ask(self, request: Request) -> Answer:
        answer = await self._http.ask(request)
        faults = _faults_in(answer) if answer.status >= 400 else []
        told = Answer(answer.status, faults, answer)
        if answer.status == 403:
            raise Unauthorized(
                f"{self.where} does not let this API key use the instance: {told.words}",
                hint="is `options.instance` the CRN of an instance of the same account?",
            )
        return told


def refused(rest: Rest, what: str, answer: Answer, *, hint: str = "") -> Refused:
    """Return the error for a refusal."""
    advice = hint or next((fault.solution for fault in answer.faults if fault.solution), "")
    return Refused(f"{rest.where} {what}: {answer.words}", hint=advice)


def expected(rest: Rest, answer: Answer, what: str) -> Answer:
    """Return *answer* where it is a success; a refusal to be asked is as no answer."""
    if answer.status >= 400:
        raise Unavailable(f"{rest.where} would not tell {what} ({answer.status}): {answer.words}")
    return answer


def segment(text: str) -> str:
    """Return an id or a name as a part of a path; raise `Mistake` where it can be none."""
    if not text or len(text) > 256 or text in {".", ".."}:
        raise Mistake(f"`{text[:80]}` is no id of the quantum service", hint="copy it from the service's list of jobs")
    return quote(text, safe="")


def _faults_in(answer: HttpAnswer) -> list[Fault]:
    try:
        return msgspec.json.decode(answer.body, type=Faults).all
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = answer.body[:LONGEST_WORDS].decode(errors="replace")
        return [Fault(text)] if "text/plain" in answer.headers.get("content-type", "") and text.isprintable() else []
