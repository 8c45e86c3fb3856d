"""
Let nothing that a test starts outlive the test run, however that ends.

Run as a program it is told process groups, one a line (``+ ID START``, ``- ID``), and ends
those that are left when its standard input closes: when the run is over, or was killed.
Servers with namespaces of their own have their ``keeper``; this is for programs without.
"""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self


class Tether:
    """Holds what is started with a session of its own, and with it all that it starts in turn."""

    def __enter__(self) -> Self:
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__], stdin=subprocess.PIPE, text=True, bufsize=1, start_new_session=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait(10)

    def hold(self, group: int) -> None:
        self._tell(f"+ {group} {start_of(group)}")

    def let_go(self, group: int) -> None:
        self._tell(f"- {group}")

    def _tell(self, line: str) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(f"{line}\n")


def start_of(process: int) -> str:
    """Return when *process* started, in ticks since boot; empty where there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def main() -> None:
    held: dict[int, str] = {}
    for line in sys.stdin:
        word, group, *start = line.split()
        if word == "+":
            held[int(group)] = start[0] if start else ""
        else:
            held.pop(int(group), None)
    for group, start in held.items():
        if start_of(group) not in {start, ""}:
            continue  # the id is another's by now
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGCONT)
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
