"""Where measurements keep their homes: on a real disk, outside the tree, and gone when they end."""

from __future__ import annotations

import fcntl
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tests.testbed.machine import CACHE

PLACE = CACHE / "bench"
IN_USE = "in-use"


@contextmanager
def workspace() -> Iterator[Path]:
    """
    Give an empty folder; take it away at the end, and those of runs that were killed.

    Beside the environments of the tools: a temporary folder may lie in memory, where a flush costs nothing.
    """
    PLACE.mkdir(parents=True, exist_ok=True)
    _clear_up()
    folder = Path(tempfile.mkdtemp(dir=PLACE))
    with (folder / IN_USE).open("w") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _clear_up() -> None:
    for folder in PLACE.iterdir():
        try:
            with (folder / IN_USE).open() as mark:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # it is in use, or just being made


def stop_in_order() -> None:
    """Let a request to end be an end in order, with everything cleared away."""
    signal.signal(signal.SIGTERM, _stop)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
