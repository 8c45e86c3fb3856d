"""A bug of ours, written to a file that a person can send."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path


def written(fault: BaseException, home: str | None) -> str:
    """Write *fault* to a file in *home* or else a folder for such; return its path, empty where neither can be."""
    name = f"bascule-bug-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.txt"
    for folder in filter(None, (home, tempfile.gettempdir())):
        path = Path(folder) / name
        with suppress(OSError):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w", encoding="utf-8", errors="backslashreplace") as report:
                # Of the command line only what cannot hold a secret.
                report.write(f"command: {' '.join(sys.argv[:2])}\npython: {sys.version}\n\n")
                report.writelines(traceback.format_exception(fault))
            return str(path)
    return ""
