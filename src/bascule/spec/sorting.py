"""Telling a plain script from a file of objects, so that one command takes both."""

from __future__ import annotations

import os
from pathlib import Path

from bascule.errors import Mistake
from bascule.model import Job, Target
from bascule.spec.loading import load_file
from bascule.spec.reading import STDIN, source_name
from bascule.spec.script_files import job_from_script

_OBJECTS = {".yaml", ".yml", ".json"}
_BEGINS_OBJECTS = ("apiVersion:", "kind:", "metadata:", "spec:", "---", "{", "%YAML")


def is_script(path: str | os.PathLike[str]) -> bool:
    """Tell whether the file at *path* is a plain script; stdin is a file of objects."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(4096).decode(errors="replace").removeprefix("\ufeff")
    except (OSError, ValueError):
        return False  # whoever reads it says what is wrong
    if head.startswith("#!"):
        return True
    lines = (line.strip() for line in head.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return Path(path).suffix not in _OBJECTS and not first.startswith(_BEGINS_OBJECTS)


def load_any(path: str | os.PathLike[str], *, name: str | None = None, target: str = "local") -> list[Job | Target]:
    """Return what the file at *path* holds; *name* and *target* are for a plain script."""
    if os.fspath(path) != STDIN and is_script(path):
        return [job_from_script(path, name=name, target=target)]
    return load_file(path)


def load(path: str | os.PathLike[str]) -> Job:
    """Return the one job that the file at *path* describes, or is."""
    things = load_any(path)
    if len(things) == 1 and isinstance(things[0], Job):
        return things[0]
    raise Mistake(
        f"`{source_name(path)}` holds {len(things)} objects, and one job was asked for",
        hint="use one file for each job, or `bascule apply` for all",
    )
