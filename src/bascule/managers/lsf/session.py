"""
Signing in: a user and a password become a token, which is good until Application Center says otherwise.

The token is kept in this process only. A password that was refused is not tried again for
a while, since a site may lock an account after some wrong ones.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple, Protocol
from xml.sax.saxutils import escape

from bascule.clients.asking import Answer, Request
from bascule.clients.credentials import Tokens, tokens_from
from bascule.clients.secrecy import Secrets
from bascule.errors import Mistake, Unauthorized, Unavailable
from bascule.managers.lsf.payload import found_in, tree_in
from bascule.model import Credentials
from bascule.ports import Clock

LEFT_ALONE = 300.0
"""Seconds for which a refused password is not tried again."""
NEW, OLD = "/ws/logon", "/webservice/pacclient/logon/"
TAKES = frozenset(range(400, 600)) - {408, 421, 425, 429}
WITHIN = 30.0
_NO_SUCH_PATH = frozenset({404, 405, 501})
_TOKEN = re.compile(r"[\x21-\x3a\x3c-\x7e]+")

ReadSecret = Callable[[str, str, str], Awaitable[str]]


class Http(Protocol):
    """`HttpClient`, and nothing else of it."""

    async def ask(self, request: Request) -> Answer:
        """Ask once."""

    async def aclose(self) -> None:
        """Close connections."""


class Login(NamedTuple):
    """Who signs in, and where the password comes from; *read_user* where the name lies beside it."""

    user: str
    passwords: Tokens
    read_user: Callable[[], Awaitable[str]] | None = None


class Session:
    """
    One user's session, as `Tokens` of an HTTP client.

    *http* is a client of its own that hides the password and signs nothing. *is_old* is
    known once signed in: whether only the interface from before 9.1.5 is there.
    """

    def __init__(self, http: Http, login: Login, clock: Clock, where: str) -> None:
        self._http = http
        self._login = login
        self._clock = clock
        self._where = where
        self._lock = asyncio.Lock()
        self._token = ""
        self._refused = ""
        self._refused_at = 0.0
        self._refusal = ""
        self.secrets = Secrets()
        """What has to be hidden in words of the other side."""
        self.user = login.user
        self.is_old: bool | None = None

    @property
    def current(self) -> str:
        """The token in use; empty before the first sign-in."""
        return self._token

    async def token(self, *, refused: str = "") -> str:
        """Return the token, which is another than *refused*; raise `Unauthorized`."""
        async with self._lock:
            if not self._token or self._token == refused:
                self._token = ""
                self._token = await self._log_on()
            return self._token

    def end(self) -> str:
        """Forget the token; return it, so that it can be released."""
        token, self._token = self._token, ""
        return token

    async def _log_on(self) -> str:
        if self._login.read_user is not None:
            self.user = (await self._login.read_user()).strip()
        password = await self._login.passwords.token(refused=self._refused)
        if password == self._refused and self._clock.monotonic() - self._refused_at < LEFT_ALONE:
            raise self._unauthorized(f"{self._refusal}; it is not tried again for {LEFT_ALONE / 60:.0f} minutes")
        body = f"<User><name>{escape(self.user)}</name> <pass>{escape(password)}</pass> </User>".encode()
        answer = await self._ask(Request("POST", NEW, headers=_headers("application/json"), body=body))
        if answer.status in _NO_SUCH_PATH and not _message(answer):
            self.is_old = True
            answer = await self._ask(Request("GET", OLD, headers=_headers("application/xml, text/xml"), body=body))
        else:
            self.is_old = False
        if answer.status in _NO_SUCH_PATH and not _message(answer):
            raise Unavailable(
                f"{self._where} has no web services ({answer.status})",
                hint="is the target's `url` that of Application Center? It ends in `/platform`",
            )
        token = self._token_in(answer)
        if token:
            self.secrets.add(token)
            self._refused = self._refusal = ""
            return token
        self._refused, self._refused_at = password, self._clock.monotonic()
        # Its words are told only where no password can be among them.
        words = _message(answer)
        self._refusal = words if words and password not in words else f"status {answer.status}"
        raise self._unauthorized(self._refusal)

    async def _ask(self, request: Request) -> Answer:
        asked = Request(
            request.method,
            request.path,
            headers=request.headers,
            body=request.body,
            what="the sign-in",
            changes_things=False,
            takes=TAKES,
            max_bytes=1 << 20,
            within=WITHIN,
        )
        answer = await self._http.ask(asked)
        if answer.status == 409:
            raise Unavailable(
                f"{self._where} says that `{self.user}` is signed in already",
                hint="end that session, or wait: Application Center ends one that is idle after an hour",
            )
        if answer.status >= 500:
            words = _message(answer)
            raise Unavailable(
                f"{self._where} failed at the sign-in ({answer.status})" + (f": {words[:200]}" if words else ""),
                hint="its web services need the Standard Edition" if answer.status == 503 else "",
            )
        return answer

    def _token_in(self, answer: Answer) -> str:
        if answer.status != 200:
            return ""
        try:
            tree = tree_in(answer.body)
        except ValueError as wrong:
            raise Unavailable(
                f"{self._where} answered the sign-in with {wrong}", hint="is `url` that of Application Center?"
            ) from None
        token = found_in(tree, "token")
        if not token:
            return ""
        self.secrets.add(token)
        token = token.replace('"', "#quote#")
        # A second one beside it is a session of the web server: both go into the cookie.
        if second := found_in(tree, "jtoken"):
            token = f"{token},JSESSIONID={second}"
        if not _TOKEN.fullmatch(token):
            raise Unauthorized(f"{self._where} gave a token that no cookie can carry")
        return token

    def _unauthorized(self, words: str) -> Unauthorized:
        return Unauthorized(
            f"{self._where} did not accept the password of `{self.user}`: {words[:200]}",
            hint="put the right one where the target's `credentials` look; jobs wait for it",
        )

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()


class Told:
    """A password for a client that must hide it, and must not ask for another by itself."""

    def __init__(self, passwords: Tokens) -> None:
        self._passwords = passwords

    async def token(self, *, refused: str = "") -> str:
        """Return the password."""
        return await self._passwords.token()


def cookie(token: str) -> dict[str, str]:
    """Sign a request; the token has its quotes written as Application Center wants them."""
    return {"Cookie": f"platform_token={token}"}


def nothing(_: str) -> dict[str, str]:
    """Sign nothing: the password stands in the body."""
    return {}


def login_of(credentials: Credentials, *, home: str, namespace: str, read: ReadSecret) -> Login:
    """
    Return who signs in how; *home* is the target's namespace, *namespace* the job's.

    Raises `Mistake` where the credentials name no source, or no user: in a secret it is the key `user`.
    """
    secret = credentials.secret
    whose = namespace if secret is not None and secret.from_ == "JobNamespace" else home
    passwords = tokens_from(
        secret=None if secret is None else partial(read, whose, secret.name, "password"),
        file=credentials.file,
        env=credentials.env,
        command=credentials.command,
    )
    if passwords is None:
        raise Mistake(
            "a target of the manager `lsf` needs `credentials` with a password",
            hint="name where it lies: `credentials: {user: alice, file: ~/lsf.password}`",
        )
    if credentials.user:
        return Login(credentials.user, passwords)
    if secret is None:
        raise Mistake("a target of the manager `lsf` needs `credentials.user`", hint="the name to sign in with")
    return Login("", passwords, partial(read, whose, secret.name, "user"))


def _headers(accept: str) -> dict[str, str]:
    return {"Accept": accept, "Content-Type": "application/xml", "Accept-Language": "en-us"}


def _message(answer: Answer) -> str:
    try:
        return found_in(tree_in(answer.body), "message", "errMsg")
    except ValueError:
        return ""
