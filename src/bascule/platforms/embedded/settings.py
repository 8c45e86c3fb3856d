"""How a store works; the defaults are right for people, other values are for tests and simulations."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bascule.platforms.embedded.home import MOUNTS


def _random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Settings:
    """How a store works."""

    threads: bool = True
    """Flush in a thread, many writes in one; else at once in the caller's, one by one, always in the same order."""

    synchronous: Literal["FULL", "OFF"] = "FULL"
    """Whether an accepted write survives a loss of power; OFF only where the disk is simulated too."""

    watch_every: float = 0.05
    """Seconds between two looks for what other processes wrote; own writes are seen at once."""

    patience: float = 10.0
    """Seconds to wait while another process writes."""

    fresh_id: Callable[[], str] = _random_id
    """Makes what must be unique: uids, the installation's seed."""

    mounts: Path = MOUNTS
    """Where the kernel says what is mounted."""

    @property
    def is_durable(self) -> bool:
        """Tell whether files are flushed to the disk."""
        return self.synchronous == "FULL"
