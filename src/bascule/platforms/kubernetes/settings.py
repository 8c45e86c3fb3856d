"""What may be set of how a store behaves; tests have less patience than a cluster."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass, field

from bascule.model import Ref

LEASE = "bascule-operator"


def fresh_identity() -> str:
    """Return a name for this process that no other has: the pod's, and something of its own."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True)
class Settings:
    """
    How a store behaves.

    *namespace* is where the Lease lies, *watched* the one namespace whose jobs are driven (None: all). A leader renews its Lease
    each *renew* seconds, stops *duration* x 2/3 after the last renewal that went well, and
    others wait the whole *duration* (whole seconds) before they take over.
    """

    namespace: str = "default"
    watched: str | None = None
    lease: str = LEASE
    duration: int = 15
    renew: float = 3.0
    retry: float = 2.0
    identity: str = field(default_factory=fresh_identity)
    only: Ref | None = None
    """The one job that is followed, by an agent."""
    only_target: Ref | None = None
    instance: str = "bascule"
    answer_within: float = 30.0
    idle: float = 90.0

    @property
    def deadline(self) -> float:
        """Seconds after which a leader that could not renew stops, well before another may take over."""
        return self.duration * 2 / 3
