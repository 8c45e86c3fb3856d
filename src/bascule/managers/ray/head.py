"""
One Ray head, asked in its own terms, and what its answers mean.

The head hands most questions on to an agent on a node, and wraps what that refuses: a 400
of the agent comes as a 500 with the text in it (and as a 400 in other releases). So the
words decide before the status does. Errors are plain text, mostly a traceback.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol
from urllib.parse import quote

import msgspec

from bascule.clients.asking import Answer, Request
from bascule.clients.sockets import Socket
from bascule.errors import Error, Refused, Unauthorized, Unavailable, Uncertain
from bascule.managers.ray.wire import Details, Listed, Log, Stopped, Submitted, Version, jobs_in
from bascule.ports import Clock

LARGEST_LIST = 64 << 20
LARGEST_LOG = 64 << 20
LIST_WITHIN = 120.0
UPLOAD_WITHIN = 300.0
RESTART_TAKES = 2.0
"""Seconds that no head is quicker at being started anew (ten are usual): for so long its name is known."""
TAKES = frozenset({400, 403, 404, 405, 413, 500})
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_LAST = re.compile(r"^(?:[A-Za-z_][\w.]*: )?(\S.*)$")


class Exists(NamedTuple):
    """The head knows a job of that id already."""


class Session(NamedTuple):
    """One run of a head."""

    name: str
    version: str


class Http(Protocol):
    """`HttpClient`, and nothing else of it."""

    async def ask(self, request: Request) -> Answer:
        """Ask once."""

    async def open(self, request: Request) -> Socket:
        """Open a WebSocket."""

    async def aclose(self) -> None:
        """Close connections."""


class Head:
    """The dashboard of one head, under one sign-in."""

    def __init__(self, http: Http, clock: Clock, url: str) -> None:
        self._http = http
        self._clock = clock
        self._session: Session | None = None
        self._asked = 0.0
        self.where = f"Ray at `{url}`"

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()

    async def session(self, *, fresh: bool = False) -> Session:
        """Return which run of the head this is; *fresh*: as of now."""
        now = self._clock.monotonic()
        if self._session is None or fresh or now - self._asked >= RESTART_TAKES:
            answer = await self._get("/api/version", what="its version")
            if answer.status != 200:
                raise self._unexpected(answer, "does not tell its version")
            version = answer.read(Version)
            self._session, self._asked = Session(version.session_name, version.ray_version), now
        return self._session

    async def submit(self, key: str, body: dict[str, object]) -> str | Exists:
        """Submit once; return the id that Ray gave, or that it has such a job already."""
        answer = await self._change("POST", "/api/jobs/", f"the submit of `{key}`", msgspec.json.encode(body))
        if answer.status == 200:
            return answer.read(Submitted).submission_id
        text = self._text(answer)
        if "already exists" in text and key in text:
            return Exists()
        if "No available agent" in text:
            raise Unavailable(f"{self.where} has no agent that could take a job yet", hint="was it started just now?")
        if answer.status == 500 and "status code 400" not in text:
            raise Uncertain(f"{self.where} failed at the submit of `{key}`: {self._words(answer)}")
        raise Refused(f"{self.where} refused job `{key}`: {self._words(answer)}")

    async def job(self, id_: str) -> Details | None:
        """Return one job; None where the head says that there is none."""
        answer = await self._get(f"/api/jobs/{self._safe(id_)}", what=f"job `{id_}`")
        if self._is_absent(answer, id_):
            return None
        if answer.status != 200:
            raise self._unexpected(answer, f"does not tell how job `{id_}` stands")
        details = answer.read(Details)
        return details if details.submission_id == id_ else None  # it also answers to ids of drivers

    async def jobs(self) -> Listed:
        """Return all jobs that were submitted to it."""
        answer = await self._get("/api/jobs/", what="the list of jobs", most=LARGEST_LIST, within=LIST_WITHIN)
        if answer.status != 200:
            raise self._unexpected(answer, "does not list its jobs")
        try:
            return jobs_in(answer.body)
        except msgspec.DecodeError as wrong:
            raise Unavailable(f"{self.where} answered the list of jobs with what cannot be read: {wrong}") from wrong

    async def stop(self, id_: str) -> bool | None:
        """Ask for a job's end; None where there is none. True promises nothing: see `observing`."""
        answer = await self._change("POST", f"/api/jobs/{self._safe(id_)}/stop", f"the end of job `{id_}`")
        if self._is_absent(answer, id_):
            return None
        if answer.status == 200:
            return answer.read(Stopped).stopped
        if answer.status == 500:
            raise Uncertain(f"{self.where} failed at ending job `{id_}`: {self._words(answer)}")
        raise Refused(f"{self.where} would not end job `{id_}`: {self._words(answer)}")

    async def delete(self, id_: str) -> None:
        """Remove the record of a job that is over; one that is not there is no error."""
        answer = await self._change("DELETE", f"/api/jobs/{self._safe(id_)}", f"the removal of job `{id_}`")
        if answer.status == 200 or self._is_absent(answer, id_):
            return
        if answer.status == 500 and "non-terminal" not in self._text(answer):
            raise Uncertain(f"{self.where} failed at removing job `{id_}`: {self._words(answer)}")
        raise Refused(f"{self.where} would not remove job `{id_}`: {self._words(answer)}")

    async def log(self, id_: str) -> str | None:
        """Return all that a job has written; None where there is no such job."""
        answer = await self._get(
            f"/api/jobs/{self._safe(id_)}/logs", what=f"the log of job `{id_}`", most=LARGEST_LOG, within=LIST_WITHIN
        )
        if self._is_absent(answer, id_):
            return None
        if answer.status != 200:
            raise self._unexpected(answer, f"does not show the log of job `{id_}`")
        return answer.read(Log).logs

    async def tail(self, id_: str) -> Socket:
        """Open the log of a job as it grows, from its beginning; raise `Unavailable` where that is not to be had."""
        path = f"/api/jobs/{self._safe(id_)}/logs/tail"
        return await self._http.open(Request("GET", path, what=f"the log of job `{id_}`"))

    async def bring(self, name: str, data: bytes) -> None:
        """Upload a package, unless the head has it. Nothing runs of it, so that a failure leaves no doubt."""
        path = f"/api/packages/gcs/{name}"
        what = f"the package `{name}`"
        if (await self._get(path, what=what)).status == 200:
            return  # and by the question it is kept for a while
        request = Request(
            "PUT",
            path,
            headers={"Content-Type": "application/octet-stream"},
            body=data,
            what=what,
            changes_things=False,
            takes=TAKES,
            within=UPLOAD_WITHIN,
        )
        answer = self._let_in(await self._http.ask(request))
        if answer.status == 413:
            raise Refused(f"{self.where} does not take a package of {len(data):,} bytes", hint="bring smaller files")
        if answer.status != 200:
            raise self._unexpected(answer, f"did not take {what}")

    async def _get(self, path: str, *, what: str, most: int | None = None, within: float | None = None) -> Answer:
        request = Request("GET", path, what=what, takes=TAKES, max_bytes=most, within=within)
        return self._let_in(await self._http.ask(request))

    async def _change(self, method: str, path: str, what: str, body: bytes | None = None) -> Answer:
        return self._let_in(await self._http.ask(Request(method, path, body=body, what=what, takes=TAKES)))

    def _let_in(self, answer: Answer) -> Answer:
        if answer.status == 403:
            raise Unauthorized(
                f"{self.where} did not accept the token: {self._words(answer)}", hint="is it the token of this cluster?"
            )
        return answer

    def _is_absent(self, answer: Answer, id_: str) -> bool:
        """Tell whether the head itself says so: a 404 of somebody on the way says nothing."""
        return answer.status == 404 and self._text(answer).startswith(f"Job {id_} does not exist")

    def _safe(self, id_: str) -> str:
        """Return *id_* as a part of a path: some ids poison a head's list for ever (a slash, a blank)."""
        if not is_id(id_):
            raise Refused(f"`{id_}` is no id of a job of Ray", hint="these are of letters, digits, `.`, `_` and `-`")
        return quote(id_, safe="")

    def _unexpected(self, answer: Answer, what: str) -> Error:
        hint = ""
        if answer.status in {404, 405}:
            hint = 'is this the dashboard, and Ray whole (`pip install "ray[default]"`)?'
        return Unavailable(f"{self.where} {what} ({answer.status}): {self._words(answer)}", hint=hint)

    def _text(self, answer: Answer) -> str:
        return answer.body[: 64 << 10].decode(errors="replace")

    def _words(self, answer: Answer) -> str:
        return answer.passage.secrets.clean(last_words(self._text(answer))) or f"HTTP status {answer.status}"


def is_id(text: str) -> bool:
    """Tell whether *text* can be the id of a job, without harm to the head."""
    return _ID.fullmatch(text) is not None


def last_words(text: str) -> str:
    """Return what a traceback comes down to: the last line that says something."""
    lines = [line.strip() for line in text.splitlines()]
    for line in reversed(lines):
        if len(line) > 1 and (found := _LAST.match(line)):
            return found[1]
    return ""
