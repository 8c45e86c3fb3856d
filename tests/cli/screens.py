"""A terminal for a command, and what a person sees on it."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

from tests.cli.conftest import BASCULE, PATIENCE

_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def take_terminal() -> None:
    """Make the terminal on stdin the one that Ctrl-C and a closed window come from."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Screen:
    """A command on a terminal of its own, 24 lines of 100 letters."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        self._leader, follower = os.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.process = subprocess.Popen(
            [*BASCULE, *arguments],
            cwd=folder,
            env={**os.environ, "TERM": "xterm"},
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
            preexec_fn=take_terminal,  # noqa: PLW1509 - no threads here
        )
        os.close(follower)
        self._raw = b""

    @property
    def raw(self) -> str:
        """All that was sent to the terminal."""
        return self._raw.decode(errors="replace")

    @property
    def text(self) -> str:
        """The same without colours and moves."""
        return _STEERING.sub("", self.raw)

    def type(self, keys: str) -> None:
        os.write(self._leader, keys.encode())

    def until(self, pattern: str) -> str:
        """Wait until *pattern* was on the screen."""
        give_up = time.monotonic() + PATIENCE
        while not re.search(pattern, self.text):
            assert time.monotonic() < give_up, f"{pattern!r} is not in {self.text!r}"
            assert self._read(), f"{pattern!r} is not in {self.text!r}, and it has ended"
        return self.text

    def end(self) -> int:
        """Wait until the command has ended; return its code."""
        while self._read():
            pass
        return self.process.wait(timeout=PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._leader)

    def _read(self) -> bool:
        if not select.select([self._leader], [], [], 1.0)[0]:
            return True
        try:
            piece = os.read(self._leader, 65536)
        except OSError:  # EIO: nobody has the other end any more
            return False
        self._raw += piece
        return bool(piece)
