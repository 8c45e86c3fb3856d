"""
Tokens: where they come from, read again at each use, so that they may be rotated.

A token that was refused is named to `Tokens.token`, so that many requests that fail
together renew it once. Tokens never stand in an error: messages say where they come from.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from bascule.clients.programs import printed_by
from bascule.errors import Unauthorized

LONGEST_TOKEN = 64 * 1024
PATIENCE = 30.0


class Tokens(Protocol):
    """Gives the token to sign in with."""

    async def token(self, *, refused: str = "") -> str:
        """Return the token to use now, which is another than *refused* if there is one; raise `Unauthorized`."""


class FileToken:
    """A token in a file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser()

    async def token(self, *, refused: str = "") -> str:
        """Read the file."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> str:
        try:
            with self._path.open("rb") as file:
                data = file.read(LONGEST_TOKEN + 1)
        except OSError as error:
            raise Unauthorized(
                f"the token's file `{self._path}` cannot be read: {error.strerror}",
                hint="see `credentials.file` of the target",
            ) from error
        return _clean(data, f"the token's file `{self._path}`")


class EnvToken:
    """A token in an environment variable."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def token(self, *, refused: str = "") -> str:
        """Look at the variable."""
        where = f"the environment variable `{self._name}`"
        if self._name not in os.environ:
            raise Unauthorized(
                f"{where} is not set", hint="set it to the token, or see `credentials.env` of the target"
            )
        return _clean(os.environb[self._name.encode()], where)


class CommandToken:
    """A token that a program prints; kept until it is refused or near its end."""

    def __init__(
        self, command: Sequence[str], *, patience: float = PATIENCE, now: Callable[[], float] = time.time
    ) -> None:
        self._command = tuple(command)
        self._patience = patience
        self._now = now
        self._kept = ""
        self._renew_at = float("inf")
        self._asking = asyncio.Lock()

    async def token(self, *, refused: str = "") -> str:
        """Return the token that is kept, or ask the program for a new one."""
        async with self._asking:
            if not self._kept or self._kept == refused or self._now() >= self._renew_at:
                self._kept = ""
                self._kept = await self._ask()
                self._renew_at = renew_at(self._kept, self._now())
            return self._kept

    async def _ask(self) -> str:
        name = self._command[0]
        try:
            data, code = await printed_by(self._command, most=LONGEST_TOKEN, patience=self._patience)
        except TimeoutError as error:  # an OSError too, and to be told from the others
            raise Unauthorized(
                f"`{name}` printed no token within {self._patience:g} s", hint="run it by hand to see what it waits for"
            ) from error
        except OSError as error:
            raise Unauthorized(
                f"`{name}`, which prints the token, cannot be run: {error.strerror}",
                hint="see `credentials.command` of the target",
            ) from error
        if code:
            raise Unauthorized(f"`{name}`, which prints the token, ended with {code}", hint="run it by hand to see why")
        return _clean(data, f"what `{name}` printed")


class SecretToken:
    """A token in a secret of the platform, which *read* knows how to get."""

    def __init__(self, read: Callable[[], Awaitable[str]]) -> None:
        self._read = read

    async def token(self, *, refused: str = "") -> str:
        """Read the secret."""
        return (await self._read()).strip()


def tokens_from(
    *,
    secret: Callable[[], Awaitable[str]] | None = None,
    file: str | None = None,
    env: str | None = None,
    command: Sequence[str] | None = None,
) -> Tokens | None:
    """Return the source of tokens that is named; None where none is."""
    if secret is not None:
        return SecretToken(secret)
    if file is not None:
        return FileToken(file)
    if env is not None:
        return EnvToken(env)
    return CommandToken(command) if command is not None else None


def renew_at(token: str, now: float) -> float:
    """Return when *token* should be renewed: before its end, where it is a JWT that tells it; else never."""
    end = _end_of(token)
    if end is None:
        return float("inf")
    return end - min(60.0, max(0.0, end - now) / 10)


def _end_of(token: str) -> float | None:
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return None
    end = claims.get("exp") if isinstance(claims, dict) else None
    return float(end) if isinstance(end, int | float) and not isinstance(end, bool) and abs(end) < 1e12 else None


def _clean(data: bytes, where: str) -> str:
    """Return the token in *data*; refuse what cannot stand in a header."""
    if len(data) > LONGEST_TOKEN:
        raise Unauthorized(f"{where} is larger than {LONGEST_TOKEN // 1024} KiB, and no token", hint="see its contents")
    try:
        token = data.decode("ascii").strip()
    except UnicodeDecodeError:  # it holds the token, and is no cause to name
        raise Unauthorized(f"{where} holds other letters than a token can have", hint="see its contents") from None
    if not token:
        raise Unauthorized(f"{where} is empty", hint="put the token there")
    if not token.isprintable():
        raise Unauthorized(f"{where} holds more than one line, and no token", hint="leave only the token there")
    return token
