"""The supervisor's log: one line per fact, in a file that cannot grow without end."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

_LARGEST = 1024 * 1024


class Journal:
    """Writes ``TIME EVENT FIELD=VALUE ...`` to stderr, which is the log file; the one before is kept beside it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.open()

    def open(self) -> None:
        """Make the file stderr, so that what the interpreter has to say lands there too."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.dup2(descriptor, 2)
        os.close(descriptor)

    def __call__(self, event: str, **fields: object) -> None:
        """Write one line."""
        words = " ".join(f"{name}={value!s}" for name, value in fields.items())
        line = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ} {event} {words}".replace("\n", " ")
        try:
            os.write(2, f"{line}\n".encode(errors="replace"))
            if os.fstat(2).st_size > _LARGEST:
                self._path.replace(self._path.with_suffix(".log.1"))
                self.open()
        except OSError:
            pass  # a full disk: jobs matter more than what is said of them
