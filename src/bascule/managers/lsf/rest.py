"""
One request to Application Center and its answer, with everything that can go wrong told truthfully.

Knows how it signs in and fails, and nothing of jobs. A session that ended shows as 403, as
401, or as words in an answer with 200: then a new one is opened, once, and the same is asked
again, since nothing was done. What is 403 after that, without such words, is a right that
the user lacks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, NamedTuple
from urllib.parse import quote, urlencode

from bascule.clients.asking import Answer as HttpAnswer
from bascule.clients.asking import Request
from bascule.errors import Error, Refused, Unauthorized, Unavailable, Uncertain
from bascule.managers.lsf.payload import Tree, found_in, tree_in
from bascule.managers.lsf.session import LEFT_ALONE, Http, Session
from bascule.ports import Clock

LARGEST_ANSWER = 32 << 20
LARGEST_LIST = 256 << 20
ANSWER_WITHIN = 60.0
LIST_WITHIN = 120.0
UPLOAD_WITHIN = 120.0
SHORTEST_SECRET = 6
AGAIN = 2
"""How often the same is asked again under another session."""

Ended = Literal["yes", "perhaps", "no"]
JSON, XML, FILES = "application/json", "application/xml, text/xml", "multipart/mixed, application/json"
FORM = "application/x-www-form-urlencoded"
# The others are the client's to judge.
TAKES = frozenset(range(400, 600)) - {401, 408, 421, 425, 429, 503, 511}
_SIGNED_OUT = re.compile(
    r"session (?:was|has been|is) (?:log|expired|invalid)|token (?:is|was|has) (?:expired|invalid|empty)|(?:not|must) log(?:ged)? ?on",
    re.IGNORECASE,
)


class Forbidden(Refused):
    """The user lacks the right to change that."""


class NotShown(Unauthorized):
    """The user is signed in, and lacks the right to see that."""


class Answer(NamedTuple):
    """An answer that was read. *trouble* is what Application Center says went wrong, in its own words."""

    status: int
    tree: Tree
    trouble: str
    body: bytes
    kind: str

    @property
    def is_none(self) -> bool:
        """Tell whether it says that there is no such thing."""
        return self.status == 404


class Rest:
    """Application Center at one address, under one sign-in."""

    def __init__(self, http: Http, session: Session, clock: Clock, where: str) -> None:
        self._http = http
        self._session = session
        self._clock = clock
        self._renewed = ""
        self._lacks_rights = ""
        self._lacks_since = 0.0
        self.where = where

    @property
    def user(self) -> str:
        """Whose jobs these are."""
        return self._session.user

    def hide(self, secret: str) -> None:
        """Repeat *secret* in no error, should the other side say it; one of a few letters could be any word."""
        if len(secret) >= SHORTEST_SECRET:
            self._session.secrets.add(secret)

    async def is_old(self) -> bool:
        """Tell whether only the interface from before 9.1.5 is there; signs in where that is not known yet."""
        if self._session.is_old is None:
            await self._session.token()
        return bool(self._session.is_old)

    @property
    def known_old(self) -> bool:
        """What is known of that without asking."""
        return bool(self._session.is_old)

    async def get(
        self, path: str, query: Mapping[str, str] | None = None, *, accept: str = JSON, large: bool = False
    ) -> Answer:
        """Ask for something; a failure is `Unavailable`, what is not there an answer with 404."""
        target = f"{path}?{urlencode(query, quote_via=quote)}" if query else path
        most, within = (LARGEST_LIST, LIST_WITHIN) if large else (LARGEST_ANSWER, ANSWER_WITHIN)
        return await self._asked(
            Request("GET", target, headers=_headers(accept), takes=TAKES, max_bytes=most, within=within)
        )

    async def look(
        self,
        path: str,
        body: bytes,
        *,
        method: str = "POST",
        kind: str = FORM,
        accept: str = JSON,
        large: bool = False,
        most: int | None = None,
        is_file: bool = False,
    ) -> Answer:
        """Ask for something by a request with a body, that changes nothing; *is_file*: the answer is, or none is there."""
        request = Request(
            method,
            path,
            headers=_headers(accept, kind),
            body=body,
            changes_things=False,
            takes=TAKES,
            max_bytes=most or (LARGEST_LIST if large else LARGEST_ANSWER),
            within=LIST_WITHIN if large or is_file else ANSWER_WITHIN,
        )
        return await self._asked(request, is_file=is_file)

    async def change(
        self, path: str, body: bytes, *, kind: str = XML.partition(",")[0], accept: str = JSON, what: str
    ) -> Answer:
        """Ask to change something; a doubt is `Uncertain`."""
        request = Request(
            "POST",
            path,
            headers=_headers(accept, kind),
            body=body,
            what=what,
            takes=TAKES,
            max_bytes=LARGEST_ANSWER,
            within=UPLOAD_WITHIN if len(body) > 1 << 20 else ANSWER_WITHIN,
        )
        return await self._asked(request)

    async def ping(self) -> Answer:
        """Ask for the version."""
        return await self.get("/ws/version", accept="application/xml, application/json")

    async def aclose(self) -> None:
        """Release the session, as its documentation asks for, and close connections."""
        try:
            if self._session.current:
                with suppress(Error):
                    await self._http.ask(self._sign_out())
        finally:
            self._session.end()
            await self._http.aclose()
            await self._session.aclose()

    def _sign_out(self) -> Request:
        method, path = ("GET", "/webservice/pacclient/logout/") if self.known_old else ("POST", "/ws/logout")
        headers = _headers(JSON, "text/plain")
        return Request(
            method, path, headers=headers, body=b"", changes_things=False, takes=frozenset(range(400, 600)), within=3.0
        )

    async def _asked(self, request: Request, *, is_file: bool = False) -> Answer:
        answer, ended = await self._once(request)
        for _ in range(AGAIN):
            if ended == "no":
                break
            answer, ended = await self._once(request)
        if ended == "yes":
            raise Unauthorized(
                f"{self.where} ends the sessions of `{self.user}` as soon as they are opened",
                hint="does somebody else sign in and out as this user?",
            )
        return self._judged(request, answer, is_file=is_file)

    async def _once(self, request: Request) -> tuple[HttpAnswer, Ended]:
        """Ask once; where the session has ended, or may have, see to it that there is another."""
        used = self._session.current
        answer = await self._http.ask(request)
        match _ended(answer):
            case "yes":
                await self._session.token(refused=used or self._session.current)
                return answer, "yes"
            case "perhaps" if self._lacks_rights_with(used):
                return answer, "no"
            case "perhaps" if not used or used == self._renewed:
                # One that was opened just now has not ended: the right is what is missing.
                self._lacks_rights, self._lacks_since = self._session.current, self._clock.monotonic()
                return answer, "no"
            case "perhaps":
                self._renewed = await self._session.token(refused=used)
                return answer, "perhaps"
        self._renewed = ""
        return answer, "no"

    def _lacks_rights_with(self, token: str) -> bool:
        """Tell whether a session was refused something a while ago though it was new."""
        recently = self._clock.monotonic() - self._lacks_since < LEFT_ALONE
        return bool(token) and token == self._lacks_rights and recently

    def _judged(self, request: Request, answer: HttpAnswer, *, is_file: bool) -> Answer:
        kind = answer.headers.get("content-type", "")
        if is_file and answer.status in {200, 400, 404}:
            return Answer(answer.status, "", "", answer.body, kind)
        tree, wrong = _read(answer.body)
        trouble = self._session.secrets.clean(_trouble(answer.status, tree), longest=500)
        what = f": {trouble[:300]}" if trouble else ""
        asked = request.what or "what it was asked"
        match answer.status:
            case 403:
                if not request.changes:
                    raise NotShown(
                        f"{self.where} does not let `{self.user}` do that{what}",
                        hint="an administrator of Application Center can give this user the right",
                    )
                raise Forbidden(
                    f"{self.where} does not let `{self.user}` do {asked}{what}",
                    hint="an administrator of Application Center can give this user the right",
                )
            case 404 if not trouble:
                raise Unavailable(
                    f"{self.where} does not know this call (404)",
                    hint="is the target's `url` that of Application Center?",
                )
            case status if status >= 500:
                if request.changes and _is_refusal(trouble):
                    raise Refused(f"{self.where} refused {asked}{what}")
                failed = Uncertain if request.changes else Unavailable
                raise failed(f"{self.where} failed at {asked} ({status}){what}", hint="see its own log")
            case status if status >= 400 and status != 404:
                error = Refused if request.changes else Unavailable
                raise error(f"{self.where} refused {asked} ({status}){what}")
        if wrong:
            unread = Uncertain if request.changes else Unavailable
            raise unread(
                f"{self.where} answered with what cannot be read: {wrong}",
                hint="is the target's `url` that of Application Center?",
            )
        return Answer(answer.status, tree, trouble, answer.body, kind)


def _ended(answer: HttpAnswer) -> Ended:
    """Tell whether *answer* says that the session has ended; a 403 without such words may mean a right that is missing."""
    words = ""
    if answer.status in {200, 403} and len(answer.body) <= 4096:
        tree, _ = _read(answer.body)
        words = found_in(tree, "errMsg", "message")
    if _SIGNED_OUT.search(words):
        return "yes"
    return "perhaps" if answer.status == 403 else "no"


def _read(body: bytes) -> tuple[Tree, str]:
    try:
        return tree_in(body), ""
    except ValueError as wrong:
        return "", str(wrong)


def _trouble(status: int, tree: Tree) -> str:
    """Return what an answer says went wrong; with 200 that is an ``errMsg``, as the old interface has it."""
    if status == 200:
        return found_in(tree, "errMsg")
    return found_in(tree, "message", "errMsg", "note")


def _is_refusal(words: str) -> bool:
    """Tell whether *words* are bsub's, which then made no job."""
    return "not submitted" in words.lower()


def _headers(accept: str, kind: str = "") -> dict[str, str]:
    headers = {"Accept": accept, "Accept-Language": "en-us"}
    return headers | {"Content-Type": kind} if kind else headers
