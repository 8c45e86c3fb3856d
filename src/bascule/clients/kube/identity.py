"""
Who we are to the API server: the token to sign with, and the client's certificate.

A token file is read anew each minute, and at once when a token was refused; so are the
files of a certificate. A program that prints a credential is asked again when it is
refused or near its end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bascule.clients.kube.access import Access, Pem
from bascule.clients.kube.kubeconfig import LONGEST_FILE, read
from bascule.clients.kube.login import PATIENCE, asked
from bascule.errors import Unauthorized

READ_AGAIN = 60.0
LONGEST_TOKEN = 256 * 1024
NEAR = 30.0


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request is signed with. Certificate and key are PEM, or empty."""

    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


class Identity:
    """Signs requests as *access* says; *now* is the time of day, *patience* how long a program is waited for."""

    def __init__(self, access: Access, *, now: Callable[[], float] = time.time, patience: float = PATIENCE) -> None:
        self._access = access
        self._now = now
        self._patience = patience
        self._kept: Credential | None = None
        self._renew_at = float("inf")
        self._ends_at: datetime | None = None
        self._asking = asyncio.Lock()

    async def credential(self, *, refused: Credential | None = None) -> Credential:
        """Return the credential to use now, which is another than *refused* if there is one; raises `Unauthorized`."""
        async with self._asking:
            kept = self._kept
            if kept is None or (refused is not None and kept == refused) or self._now() >= self._renew_at:
                self._kept = kept = await self._renewed()
            return kept

    @property
    def remedy(self) -> str:
        """What to do when the credential is not accepted."""
        access = self._access
        if access.login is not None:
            end = self._ends_at
            if end is not None and end.timestamp() <= self._now():
                return f"`{access.login.name}` gave one that ended at {end.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}: sign in anew"
            return f"`{access.login.name}` gave it: sign in anew, or run it by hand"
        if access.token_file is not None:
            return f"it is from the file `{access.token_file}`: renew what is in it"
        return "it is from the kubeconfig, and may have ended: renew it there"

    async def _renewed(self) -> Credential:
        access = self._access
        if access.login is not None:
            printed = await asked(access.login, patience=self._patience)
            self._ends_at = printed.ends_at
            self._renew_at = _renew_at(printed.ends_at, self._now())
            if printed.certificate:
                return Credential(printed.token, printed.certificate, printed.key)
            return Credential(printed.token, *await asyncio.to_thread(_certificate, access))
        if access.token_file is not None or access.certificate.file is not None:
            self._renew_at = self._now() + READ_AGAIN
        return await asyncio.to_thread(self._read)

    def _read(self) -> Credential:
        access, token = self._access, self._access.token
        if access.token_file is not None:
            try:
                token = _token_in(access.token_file)
            except Unauthorized:
                # It may be about to be replaced: what was read last holds until then.
                token = self._kept.token if self._kept is not None else token
                if not token:
                    raise
        return Credential(token, *_certificate(access))


def _renew_at(end: datetime | None, now: float) -> float:
    """Return when to ask again; one that is at its end when it comes is asked for again when it is refused."""
    if end is None or end.timestamp() <= now:
        return float("inf")
    return end.timestamp() - min(NEAR, (end.timestamp() - now) / 10)


def _token_in(file: Path) -> str:
    try:
        data = read(file)
        token = data.decode("ascii").strip() if len(data) <= LONGEST_TOKEN else ""
    except (OSError, UnicodeDecodeError):
        token = ""
    if not token or not token.isprintable():
        raise Unauthorized(
            f"the token's file `{file}` cannot be read, or holds no token", hint="see its owner and mode"
        )
    return token


def _certificate(access: Access) -> tuple[bytes, bytes]:
    return _pem(access.certificate, "certificate"), _pem(access.key, "key")


def _pem(pem: Pem, what: str) -> bytes:
    if pem.file is None:
        return pem.data
    try:
        data = read(pem.file)
    except OSError as error:
        raise Unauthorized(
            f"the client's {what} `{pem.file}` cannot be read: {error.strerror}", hint="see its owner and mode"
        ) from error
    if len(data) > LONGEST_FILE:
        raise Unauthorized(f"the client's {what} `{pem.file}` is too large to be one", hint="see `kubectl config view`")
    return data
