"""The nouns of asking: the site that is asked, the question, and what came back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from bascule.clients import faults
from bascule.clients.addresses import AddressPolicy
from bascule.clients.faults import Passage

T = TypeVar("T")
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


def bearer(token: str) -> dict[str, str]:
    """Sign as most APIs want it."""
    return {"Authorization": f"Bearer {token}"}


@dataclass(frozen=True, slots=True)
class Site:
    """
    Where a client goes, and within which bounds.

    *connect_within* and *answer_within* are seconds, the latter for the whole of a
    request; *max_bytes* is for an answer's body; *sign* makes headers of the token. *pace* is the file by which all
    processes that go there share *requests_per_second*. *renews_on* are the statuses
    after which a fresh token is tried once: some say 403 to one that is old.
    """

    url: str
    policy: AddressPolicy = field(default_factory=AddressPolicy)
    ca: str | None = None
    server_name: str | None = None
    plaintext: bool = False
    connect_within: float = 10.0
    answer_within: float = 30.0
    max_bytes: int = 16 * 1024 * 1024
    requests_per_second: float | None = None
    pace: Path | None = None
    connections: int = 8
    sign: Callable[[str], Mapping[str, str]] = bearer
    renews_on: frozenset[int] = frozenset({401})


@dataclass(frozen=True, slots=True)
class Request:
    """
    One question. *takes* are statuses that the asker wants to read, though they are failures to others.

    *what* says for people what it is about, *changes_things* whether it must not be
    asked again unseen; by default whatever is not ``GET`` must not.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    what: str = ""
    changes_things: bool | None = None
    takes: frozenset[int] = frozenset()
    max_bytes: int | None = None
    within: float | None = None

    @property
    def changes(self) -> bool:
        """Tell whether it may change something on the other side."""
        return self.method not in _READS if self.changes_things is None else self.changes_things


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the names of *headers* are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    passage: Passage = field(repr=False)

    def read(self, wanted: type[T]) -> T:
        """Read the body as JSON; an answer that cannot be read is as none."""
        try:
            return msgspec.json.decode(self.body, type=wanted)
        except (msgspec.DecodeError, RecursionError) as error:
            raise faults.malformed(self.passage, str(error)) from None
