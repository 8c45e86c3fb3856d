"""What every object of Kubernetes carries, as far as it is needed here."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec


class Key(NamedTuple):
    """Which object: its namespace, empty where the kind has none, and its name."""

    namespace: str
    name: str


class Owner(msgspec.Struct, frozen=True, rename="camel"):
    """The object that owns another."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """An object's ``metadata``; what is not named here is not read, and so not kept."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 1
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[Owner, ...] = ()

    @property
    def key(self) -> Key:
        """Which object it is of."""
        return Key(self.namespace, self.name)


class ListMeta(msgspec.Struct, frozen=True, rename={"resource_version": "resourceVersion", "more": "continue"}):
    """A list's ``metadata``: how new it is, and where its next page begins."""

    resource_version: str = ""
    more: str = ""
