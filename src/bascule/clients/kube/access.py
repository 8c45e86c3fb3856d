"""Where an API server is, and who we are there, as nouns; ``finding`` says where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Login:
    """
    A program that prints a credential, as kubeconfigs name it under ``exec``.

    *cluster* is what it is told of the cluster, where it wants to know; *install* what its
    kubeconfig says to those who do not have it.
    """

    name: str
    command: tuple[str, ...] = field(repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_version: str = "client.authentication.k8s.io/v1"
    cluster: Mapping[str, Any] | None = None
    install: str = ""


@dataclass(frozen=True, slots=True)
class Pem:
    """A certificate or a key: as *data*, or in a *file* that is read again, so that it may be renewed."""

    data: bytes = field(default=b"", repr=False)
    file: Path | None = None

    def __bool__(self) -> bool:
        """Tell whether there is one."""
        return bool(self.data) or self.file is not None


@dataclass(frozen=True, slots=True)
class Access:
    """
    One cluster, and one identity there.

    *namespace* is where objects are meant to be that name none. A token file is read again
    and again, so that it may be rotated.
    """

    server: str
    ca: str | None = None
    server_name: str | None = None
    namespace: str = "default"
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    certificate: Pem = Pem()
    key: Pem = Pem()
    login: Login | None = None
