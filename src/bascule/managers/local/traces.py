"""
The files that a wrapper leaves, read back; what is torn or not there is None.

What they are is said in ``wrapper``.
"""

from __future__ import annotations

import os
from pathlib import Path

from bascule.managers.local.records import Birth, Result

_END = " .\n"
_LONGEST = 4096


def fence(folder: Path, launch: int) -> bool:
    """Keep a launch that was intended from ever beginning; False where it has begun."""
    ours = folder / "fence"
    ours.write_text(f"fenced{_END}")
    try:
        os.link(ours, folder / f"begun.{launch}")
    except FileExistsError:
        return _line(folder / f"begun.{launch}") == ["fenced"]
    return True


def birth(folder: Path, what: str, launch: int) -> Birth | None:
    """Return who wrote ``begun`` or ``start``."""
    fields = _line(folder / f"{what}.{launch}")
    if len(fields) != 3 or not (fields[0].isdigit() and fields[1].isdigit()):
        return None
    return Birth(int(fields[0]), int(fields[1]))


def result(folder: Path, launch: int) -> tuple[Result | None, float | None]:
    """Return what the shell saw of the program's end, and the time of day when."""
    path = folder / f"result.{launch}"
    fields = _line(path)
    if len(fields) != 2 or not (fields[0].isdigit() and fields[1].isdigit()):
        return None, None
    return Result(int(fields[0]), fields[1] == "1"), path.stat().st_mtime


def failed(folder: Path, launch: int) -> int | None:
    """Return the status of a shell that could not execute the program."""
    fields = _line(folder / f"failed.{launch}")
    return int(fields[0]) if len(fields) == 1 and fields[0].isdigit() else None


def kept_out(folder: Path, launch: int, group: str) -> bool:
    """Tell whether the program could not enter a cgroup."""
    return f"{group}/cgroup.procs" in _text(folder / f"outside.{launch}").splitlines()


def _line(path: Path) -> list[str]:
    text = _text(path)
    return text.removesuffix(_END).split() if text.endswith(_END) else []


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST)
    except FileNotFoundError:
        return ""
