"""Where jobs can run: the nouns of a target."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from bascule.model.spec import Noun
from bascule.model.status import Condition
from bascule.model.units import Duration


class SecretRef(Noun, frozen=True, rename={"from_": "from"}):
    """A secret that holds a credential; *from_* says whose."""

    name: str
    from_: Literal["Target", "JobNamespace"] = "Target"


class Credentials(Noun, frozen=True):
    """How to sign in; at most one of the sources is set."""

    user: str | None = None
    secret: SecretRef | None = None
    file: str | None = None
    env: str | None = None
    command: tuple[str, ...] | None = None


class Tls(Noun, frozen=True):
    """What the server's certificate is checked against; checking cannot be switched off."""

    ca: str | None = None
    server_name: str | None = None


class Network(Noun, frozen=True):
    """Inner addresses, and plain http, only where the owner says so."""

    allow: tuple[str, ...] = ()
    plaintext: bool = False


class Limits(Noun, frozen=True):
    """What the target's owner allows us."""

    active_jobs: int | None = None
    requests_per_second: float | None = None
    poll_interval: Duration | None = None


class Store(Noun, frozen=True):
    """An object store that jobs may name."""

    name: str
    url: str
    endpoint: str | None = None
    secret: SecretRef | None = None


class TargetFiles(Noun, frozen=True):
    """Where files can go."""

    root: str | None = None
    claim: str | None = None
    stores: tuple[Store, ...] = ()
    sources: tuple[str, ...] = ()


class AllowedNamespaces(Noun, frozen=True, rename={"from_": "from"}):
    """Who may use the target."""

    from_: Literal["Same", "All", "Selector", "Names"] = "Same"
    selector: dict[str, Any] | None = None
    names: tuple[str, ...] = ()


class TargetSpec(Noun, frozen=True):
    """Where jobs can run, and how to get there."""

    manager: str
    url: str | None = None
    credentials: Credentials = Credentials()
    tls: Tls = Tls()
    network: Network = Network()
    options: dict[str, Any] = {}
    limits: Limits = Limits()
    submission: Literal["Held", "Direct"] = "Held"
    files: TargetFiles = TargetFiles()
    mirror: Literal["Shared", "Isolated", "None"] | None = None
    allowed_namespaces: AllowedNamespaces = AllowedNamespaces()


class TargetStatus(Noun, frozen=True):
    """How the target is; written when it changes, never per poll."""

    version: str = ""
    conditions: tuple[Condition, ...] = ()
    observed_generation: int = 0
    changed_at: datetime | None = None
