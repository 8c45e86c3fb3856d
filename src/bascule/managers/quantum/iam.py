"""
Signing in: an API key is exchanged for a token, which is kept until shortly before its end.

The key is read anew for every exchange, so that it may be rotated. One exchange serves all
requests that wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol
from urllib.parse import urlencode

import msgspec

from bascule.clients.asking import Answer, Request
from bascule.clients.credentials import Tokens, tokens_from
from bascule.errors import Mistake, Unauthorized, Unavailable
from bascule.model import Credentials
from bascule.ports import Clock

GRANT = "urn:ibm:params:oauth:grant-type:apikey"
LONGEST_LIFE = 86_400.0
ReadSecret = Callable[[str, str, str], Awaitable[str]]


class Http(Protocol):
    """`HttpClient`, and nothing else of it."""

    async def ask(self, request: Request) -> Answer:
        """Ask once."""

    async def aclose(self) -> None:
        """Close connections."""


class HidingHttp(Http, Protocol):
    """One that can be told what else must not be repeated."""

    def hide(self, secret: str) -> None:
        """Take *secret* out of whatever is said."""


class Granted(msgspec.Struct):
    """What an exchange brings."""

    access_token: str = ""
    expires_in: float | None = None


class Denied(msgspec.Struct):
    """What is said of a key that is not accepted."""

    errorMessage: str = ""  # noqa: N815 - IAM spells it so


class IamTokens:
    """Tokens for one API key."""

    def __init__(self, http: HidingHttp, keys: Tokens, clock: Clock, where: str) -> None:
        self._http = http
        self._keys = keys
        self._clock = clock
        self._where = where
        self._kept = ""
        self._renew_at = 0.0
        self._asking = asyncio.Lock()

    async def token(self, *, refused: str = "") -> str:
        """Return a token that holds; raise `Unauthorized` where the key is not accepted."""
        async with self._asking:
            if not self._kept or self._kept == refused or self._clock.monotonic() >= self._renew_at:
                self._kept = ""
                self._kept = await self._exchange()
            return self._kept

    async def _exchange(self) -> str:
        key = await self._keys.token()
        self._http.hide(key)
        form = urlencode({"grant_type": GRANT, "apikey": key, "response_type": "cloud_iam"})
        began = self._clock.monotonic()
        answer = await self._http.ask(
            Request(
                "POST",
                "/identity/token",
                headers={"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
                body=form.encode(),
                what="the exchange of the API key",
                changes_things=False,
                max_bytes=1 << 20,
            )
        )
        if answer.status >= 400:
            raise self._denied(answer)
        granted = answer.read(Granted)
        token = granted.access_token
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise Unavailable(
                f"{self._where} answered the API key with what is no token", hint="is `options.iam` the address of IAM?"
            )
        lives = min(max(granted.expires_in or 0.0, 0.0), LONGEST_LIFE)
        # Renewed a tenth of its life before its end, as it must last until the request has arrived.
        self._renew_at = began + lives * 0.9
        return token

    def _denied(self, answer: Answer) -> Unauthorized:
        try:
            words = answer.passage.secrets.clean(msgspec.json.decode(answer.body, type=Denied).errorMessage)
        except (msgspec.DecodeError, UnicodeDecodeError):
            words = ""
        said = f": {words.rstrip('.')}" if words else ""
        return Unauthorized(
            f"{self._where} did not accept the API key ({answer.status}){said}",
            hint="is it whole, and not deleted? Put a good one where the target's `credentials` look",
        )

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()


def keys_of(credentials: Credentials, *, home: str, namespace: str, read: ReadSecret) -> Tokens:
    """Return where the API key comes from; *home* is the target's namespace, *namespace* the job's."""
    secret = credentials.secret
    whose = namespace if secret is not None and secret.from_ == "JobNamespace" else home
    keys = tokens_from(
        secret=None if secret is None else partial(read, whose, secret.name, "token"),
        file=credentials.file,
        env=credentials.env,
        command=credentials.command,
    )
    if keys is not None:
        return keys
    raise Mistake(
        "a target of the manager `quantum` needs `credentials` with an API key",
        hint="name where it lies: `credentials: {file: ~/quantum.key}`",
    )
