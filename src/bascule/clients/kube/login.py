"""Asking a program for a credential, as kubeconfigs name it under ``exec``; bounded in time and size."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from bascule.clients.kube.access import Login
from bascule.clients.programs import printed_by
from bascule.errors import Unauthorized

PATIENCE = 60.0
LONGEST = 256 * 1024
_BY_HAND = "run it by hand to see why"


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program printed: a token, a certificate with its key, or both, and when they end."""

    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    ends_at: datetime | None = None


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _Credential(msgspec.Struct):
    status: _Status | None = None


async def asked(login: Login, *, patience: float = PATIENCE) -> Printed:
    """Return what the program of *login* prints; raises `Unauthorized` where that is no credential."""
    name = login.name
    try:
        data, code = await printed_by(login.command, most=LONGEST, patience=patience, env=_environment(login))
    except TimeoutError as error:  # an OSError too, and to be told from the others
        raise Unauthorized(
            f"`{name}`, which signs in to the cluster, gave no credential within {patience:g} s",
            hint="run it by hand to see what it waits for",
        ) from error
    except OSError as error:
        raise Unauthorized(
            f"`{name}`, which signs in to the cluster, cannot be run: {error.strerror}",
            hint=login.install or "see the kubeconfig's `exec`",
        ) from error
    if code:
        raise Unauthorized(f"`{name}`, which signs in to the cluster, ended with {code}", hint=_BY_HAND)
    if len(data) > LONGEST:
        raise Unauthorized(
            f"`{name}`, which signs in to the cluster, printed more than {LONGEST >> 10} KiB", hint=_BY_HAND
        )
    return _printed(name, data)


def _environment(login: Login) -> dict[str, str]:
    spec: dict[str, Any] = {"interactive": False}
    if login.cluster is not None:
        spec["cluster"] = login.cluster
    info = {"apiVersion": login.api_version, "kind": "ExecCredential", "spec": spec}
    return {**os.environ, **login.env, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}


def _printed(name: str, data: bytes) -> Printed:
    try:
        found = msgspec.json.decode(data, type=_Credential).status
    except (msgspec.MsgspecError, RecursionError):  # its words could hold the secret
        found = None
    token = ((found.token if found is not None else "") or "").strip()
    if found is None or not (token or found.client_certificate_data) or not (token.isascii() and token.isprintable()):
        raise Unauthorized(f"what `{name}` printed is no credential for the cluster", hint=_BY_HAND)
    if bool(found.client_certificate_data) != bool(found.client_key_data):
        raise Unauthorized(f"`{name}` printed a certificate without its key, or a key without", hint=_BY_HAND)
    end = found.expiration_timestamp
    return Printed(
        token=token,
        certificate=(found.client_certificate_data or "").encode(),
        key=(found.client_key_data or "").encode(),
        ends_at=end.replace(tzinfo=UTC) if end is not None and end.tzinfo is None else end,
    )
