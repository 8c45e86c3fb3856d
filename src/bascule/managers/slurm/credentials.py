"""
Signing in to slurmrestd: a JSON Web Token, read anew for every request.

The token goes into one header and nowhere else. What is looked at inside is only what
makes a message better: whose it is, and whether its time is over.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

import msgspec

from bascule.clients.credentials import Tokens, tokens_from
from bascule.errors import Mistake, Unauthorized
from bascule.model import Credentials

ReadSecret = Callable[[str, str, str], Awaitable[str]]


class Claims(msgspec.Struct):
    """What a token says of itself, unverified."""

    exp: float | None = None
    sun: str | None = None
    username: str | None = None


class SignIn:
    """One user's way in."""

    def __init__(self, user: str | None, now: Callable[[], datetime]) -> None:
        self._user = user
        self._now = now
        self._claims = Claims()

    def headers(self, token: str) -> dict[str, str]:
        """Return what signs a request."""
        token = token.removeprefix("SLURM_JWT=")
        self._claims = claims_of(token)
        # Never `Authorization` beside it: slurmrestd refuses two tokens as ambiguous.
        return {"X-SLURM-USER-NAME": self.user, "X-SLURM-USER-TOKEN": token}

    @property
    def user(self) -> str:
        """Whose name the requests bear."""
        name = self._user or self._claims.sun or self._claims.username
        if not name:
            raise Mistake(
                "the target does not say whose token it is", hint="set `credentials.user` to the name on the cluster"
            )
        return name

    def refused(self, where: str, words: str) -> Unauthorized:
        """Return the error for a sign-in that was not accepted."""
        claims = self._claims
        if claims.exp is not None and claims.exp < self._now().timestamp():
            ended = datetime.fromtimestamp(claims.exp, UTC)
            return Unauthorized(
                f"{where} did not accept the token of `{self.user}`: it expired at {ended:%Y-%m-%dT%H:%M:%SZ}",
                hint="make a new one (`scontrol token lifespan=86400`) and put it where the target's `credentials` look",
            )
        owner = claims.sun or claims.username
        if owner and self._user and owner != self._user:
            return Unauthorized(
                f"{where} did not accept the token for `{self._user}`: it is a token of `{owner}` ({words})",
                hint="set the target's `credentials.user` to the token's owner",
            )
        return Unauthorized(
            f"{where} did not accept the credentials of `{self.user}`: {words}",
            hint="is the token whole, of this cluster and of this user? `scontrol token` there makes one",
        )


def claims_of(token: str) -> Claims:
    """Return what *token* says of itself; nothing where it is of another form."""
    parts = token.split(".")
    if len(parts) != 3:
        return Claims()
    try:
        plain = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(plain, type=Claims)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return Claims()


def tokens_of(credentials: Credentials, *, home: str, namespace: str, read: ReadSecret) -> Tokens:
    """
    Return where the token comes from; *home* is the target's namespace, *namespace* the job's.

    Raises `Mistake` where the credentials name no source.
    """
    secret = credentials.secret
    whose = namespace if secret is not None and secret.from_ == "JobNamespace" else home
    tokens = tokens_from(
        secret=None if secret is None else partial(read, whose, secret.name, "token"),
        file=credentials.file,
        env=credentials.env,
        command=credentials.command,
    )
    if tokens is not None:
        return tokens
    raise Mistake(
        "a target of the manager `slurm` needs `credentials` with a token",
        hint="make one on the cluster (`scontrol token`), and name where it lies: `credentials: {user: alice, file: ~/hpc.token}`",
    )
