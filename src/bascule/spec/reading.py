"""Reading files that people name: bounded in size, and every failure in words."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bascule.errors import Mistake
from bascule.spec.names import nearest

STDIN = "-"


def source_name(path: str | os.PathLike[str]) -> str:
    """Return what *path* is called in messages."""
    return "stdin" if os.fspath(path) == STDIN else os.fspath(path)


def read_bytes(path: str | os.PathLike[str], *, longest: int, hint: str) -> bytes:
    """Return what the file at *path* holds (``-`` is stdin); refuse more than *longest* bytes with *hint*."""
    source = source_name(path)
    try:
        if source == "stdin":
            data = sys.stdin.buffer.read(longest + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(longest + 1)
    except FileNotFoundError as error:
        raise Mistake(f"there is no file `{source}`", hint=_nearest_file(Path(path))) from error
    except IsADirectoryError as error:
        raise Mistake(f"`{source}` is a folder, not a file", hint="name the file in it") from error
    except PermissionError as error:
        raise Mistake(f"`{source}` may not be read by you", hint="see its owner and mode with `ls -l`") from error
    except (OSError, ValueError) as error:
        raise Mistake(f"`{source}` cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > longest:
        raise Mistake(f"`{source}` is larger than {longest // (1024 * 1024)} MiB", hint=hint)
    return data


def _nearest_file(path: Path) -> str:
    try:
        near = nearest(path.name, (entry.name for entry in path.parent.iterdir()))
    except (OSError, ValueError):
        return "check the name of its folder"
    return f"did you mean `{path.with_name(near)}`?" if near else ""
