"""How far a run came, so that one that was stopped goes on: the rows that were measured, and with which code."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class Progress:
    """Kept in *file*; None keeps nothing."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._code = _code()
        self.done: list[str] = []
        if file is not None and file.exists():
            kept = json.loads(file.read_text())
            # What was measured with other code says nothing about this one.
            self.done = kept["done"] if kept["code"] == self._code else []

    def note(self, name: str) -> None:
        """The row *name* is measured."""
        self.done.append(name)
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps({"code": self._code, "done": self.done}))

    def finish(self) -> None:
        """All is measured: the next run begins anew."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)


def _code() -> str:
    digest = sha256()
    for folder in ("src/bascule", "bench"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
