"""
What is built once for all test runs: beside its place, renamed into it when it is whole.

A lock file makes a second test run wait; a build that hangs is given up, and one whose
test run is killed dies with it.
"""

import contextlib
import fcntl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.testbed.machine import Announce, TestbedUnavailable

PROGRESS = 30
"""Seconds between two lines about how far a long build has come."""


@dataclass(frozen=True, slots=True)
class Build:
    """A build in progress: make what is wanted in `half`, by `run`."""

    name: str
    half: Path
    log: Path
    lock: IO[str]
    announce: Announce

    def run(
        self,
        *argv: str,
        within: float,
        cwd: Path = Path("/"),
        environment: dict[str, str] | None = None,
        tied: tuple[str, ...] = (),
    ) -> None:
        """Run *argv*, its output kept in the log; *tied* are programs that run it so that nothing outlives it."""
        began = time.monotonic()
        with self.log.open("a") as output:
            # Dies with us, and holds the lock until it is gone.
            process = subprocess.Popen(
                ["nice", "-n", "10", "setpriv", "--pdeathsig", "KILL", *tied, *argv],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=[self.lock.fileno()],
                cwd=cwd,
                env=environment,
            )
            with process:
                try:
                    self._wait(process, began, within)
                except BaseException:
                    process.kill()
                    raise
        if process.returncode != 0:
            raise TestbedUnavailable(f"{self.name} could not be built, see {self.log}:\n{self._said(12)}")

    def _wait(self, process: "subprocess.Popen[bytes]", began: float, within: float) -> None:
        while True:
            left = began + within - time.monotonic()
            try:
                process.wait(max(0, min(PROGRESS, left)))
                return
            except subprocess.TimeoutExpired:
                if left <= PROGRESS:
                    why = f"not done after {within:g} s"
                    raise TestbedUnavailable(f"{self.name} could not be built, see {self.log}: {why}") from None
            count = len(self.log.read_text(errors="replace").splitlines())
            latest = self._said(1)[-100:]
            self.announce(f"testbed: {self.name}: {time.monotonic() - began:.0f} s, step {count}: {latest}")

    def _said(self, lines: int) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


@contextlib.contextmanager
def built_once(place: Path, name: str, announce: Announce) -> Iterator[Build | None]:
    """
    Give a `Build` whose `half` becomes *place* if the block ends well; None if *place* is there.

    The block makes `half`, a file or a folder; whatever it has made is removed if it fails.
    """
    if place.exists():
        yield None
        return
    with _lock(place, name, announce) as lock:
        if place.exists():  # another test run may have built it while we waited
            yield None
            return
        began = time.monotonic()
        half = place.with_name(f".{place.name}.half")
        log = place.with_name(f"{place.name}.log")
        log.write_text("")
        _remove(half)  # left by a build that was killed; we hold the lock, so nobody works on it
        try:
            yield Build(name, half, log, lock, announce)
        except BaseException:
            _remove(half)
            raise
        half.rename(place)
        announce(f"testbed: built {name} in {time.monotonic() - began:.0f} s, kept in {place}")


@contextlib.contextmanager
def _lock(place: Path, name: str, announce: Announce) -> Iterator[IO[str]]:
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f".{place.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            announce(f"testbed: another test run is building {name}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def _remove(half: Path) -> None:
    subprocess.run(["rm", "-rf", "--one-file-system", str(half)], check=True)
