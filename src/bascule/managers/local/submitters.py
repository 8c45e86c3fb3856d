"""
Whoever submits, as a job finds them: their environment and umask.

Another process may hand the job in, so that they are kept where it is accepted; once for
all jobs that come from the same surroundings. The environment may hold secrets: the file
is its user's only, and goes when it has not been used for `KEPT`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from datetime import timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bascule.managers.local.files import content_of, replace_file

KEPT = timedelta(days=30)
"""How long surroundings stay after they were last used, by our clock."""


class Submitter(msgspec.Struct, frozen=True):
    """The *environment* and the *umask* of a process that submits."""

    environment: dict[bytes, bytes]
    umask: int


class Submitters:
    """The surroundings that are kept in *place*, each under a name that is made from its content."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def keep(self, one: Submitter) -> str:
        """Keep *one* durably; return its name."""
        data = msgspec.msgpack.encode(replace(one, environment=dict(sorted(one.environment.items()))))
        name = hashlib.blake2b(data, digest_size=10).hexdigest()
        if content_of(self._place / name) == data:
            self._touch(name)
        else:
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._forget()
            replace_file(self._place / name, data, durable=True)
        return name

    def of(self, name: str) -> Submitter | None:
        """Return whose name it is; None where they are not kept (any more)."""
        if not name.isalnum():
            return None
        try:
            found = msgspec.msgpack.decode(content_of(self._place / name), type=Submitter)
        except msgspec.DecodeError:
            return None
        self._touch(name)
        return found

    def _touch(self, name: str) -> None:
        """Note that *name* is in use."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(self._place / name)

    def _forget(self) -> None:
        oldest = time.time() - KEPT.total_seconds()
        for path in self._place.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < oldest:
                    path.unlink()


def this_process() -> Submitter:
    """Return the surroundings of this process."""
    return Submitter(dict(os.environb), _umask())


def _umask() -> int:
    # os.umask can only be read by setting it, which other threads would see.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return stat.S_IWGRP | stat.S_IWOTH
