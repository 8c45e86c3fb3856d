"""Names of output files, with Slurm's patterns filled in: ``%j``, ``%A``, ``%a``, ``%x``, ``%N``, ``%u``."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

_PATTERN = re.compile(r"\\\\|%(?:(\d{1,2})?([A-Za-z])|(%))")
NEEDS_JOB = "j"
NEEDS_NODE = "N"


def letters_in(name: str) -> set[str]:
    """Return the patterns that *name* has."""
    return {matched[2] for matched in _PATTERN.finditer(name) if matched[2]}


def filled(name: str, values: Mapping[str, str]) -> str:
    """Fill *values* into *name*, numbers as wide as asked; a pattern without a value stays."""

    def fill(matched: re.Match[str]) -> str:
        if matched[3]:
            return "%"
        value = values.get(matched[2] or "")
        if value is None:
            return matched[0]
        return value.zfill(min(int(matched[1]), 10)) if matched[1] and value.isdecimal() else value

    if "\\" in name:
        # sbatch takes a name with a backslash as it is.
        return name.replace("\\", "")
    return _PATTERN.sub(fill, name)


def in_folder(folder: str, name: str) -> str:
    """Return *name* as an absolute path, from *folder* on."""
    return posixpath.normpath(posixpath.join(folder, name))


def is_beneath(path: str, root: str) -> bool:
    """Tell whether *path*, taken by its letters, lies beneath *root*."""
    root = posixpath.normpath(root).rstrip("/")
    return posixpath.normpath(path).startswith(f"{root}/")
