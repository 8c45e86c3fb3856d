"""
Who we are to the API server: the token to sign with, and the client's certificate.

A token file is read anew each minute, and at once when a token was refused; a program
that prints a credential is asked again when it is refused or near its end.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bascule.clients.kube.access import Access, Login
from bascule.clients.programs import printed_by
from bascule.errors import Mistake, Unauthorized

READ_AGAIN = 60.0
PATIENCE = 60.0
LONGEST = 256 * 1024
NEAR = 30.0


class _Printed(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Credential(msgspec.Struct):
    status: _Printed | None = None


class Identity:
    """Signs requests as *access* says."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._token = access.token
        self._read_at = float("-inf")
        self._asking = asyncio.Lock()
        self._printed: _Printed | None = None
        self._served = 0

    async def token(self, *, refused: str | None = None) -> str:
        """Return the token to use now, which is another than *refused* if there is one."""
        access = self._access
        if access.token_file is not None:
            if refused is not None or time.monotonic() - self._read_at > READ_AGAIN:
                self._token = _read_token(access.token_file)
                self._read_at = time.monotonic()
            return self._token
        if access.login is not None:
            return (await self._login(access.login, refused)).token
        return self._token

    async def context(self) -> ssl.SSLContext:
        """Return how to verify the server, and what certificate to show."""
        access = self._access
        certificate, key = access.certificate, access.key
        if access.login is not None:
            printed = await self._login(access.login, None)
            certificate, key = (
                (printed.client_certificate_data.encode(), printed.client_key_data.encode())
                if printed.client_certificate_data
                else (certificate, key)
            )
        try:
            context = ssl.create_default_context(cadata=access.ca)
            if certificate:
                _load(context, certificate, key)
        except (ssl.SSLError, ValueError, OSError) as error:
            raise Mistake(
                "the cluster's authority, or the client's certificate or key, cannot be read",
                hint="see `kubectl config view`",
            ) from error
        return context

    async def _login(self, login: Login, refused: str | None) -> _Printed:
        async with self._asking:
            kept = self._printed
            if kept is None or kept.token == refused or _is_near_its_end(kept):
                self._printed = kept = await _ask(login)
            return kept


def _read_token(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(LONGEST)
        token = data.decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        token = ""
    if not token or not token.isprintable():
        raise Unauthorized(
            f"the token's file `{file}` cannot be read, or holds no token", hint="see its owner and mode"
        )
    return token


def _load(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Hand certificate and key over, for which the library only takes a file; it is gone at once."""
    descriptor, name = tempfile.mkstemp(prefix="bascule-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(certificate + b"\n" + key)
        context.load_cert_chain(name)
    finally:
        Path(name).unlink()


def _is_near_its_end(printed: _Printed) -> bool:
    end = printed.expiration_timestamp
    return end is not None and end.timestamp() - datetime.now(UTC).timestamp() < NEAR


async def _ask(login: Login) -> _Printed:
    name = login.command[0]
    info = {"apiVersion": login.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
    try:
        data, code = await printed_by(
            login.command,
            most=LONGEST,
            patience=PATIENCE,
            env={**os.environ, **login.env, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()},
        )
    except TimeoutError as error:  # an OSError too, and to be told from the others
        raise Unauthorized(f"`{name}` gave no credential within {PATIENCE:g} s", hint="run it by hand") from error
    except OSError as error:
        raise Unauthorized(
            f"`{name}`, which signs in to the cluster, cannot be run: {error.strerror}",
            hint="see the kubeconfig's `exec`",
        ) from error
    try:
        found = msgspec.json.decode(data, type=_Credential).status
    except msgspec.MsgspecError:
        found = None
    if code or found is None or not (found.token or found.client_certificate_data):
        raise Unauthorized(
            f"`{name}`, which signs in to the cluster, gave no credential", hint="run it by hand to see why"
        )
    return found
