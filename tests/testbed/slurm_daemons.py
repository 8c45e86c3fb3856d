"""
Start, look at and end the programs of one test server inside its namespaces.

Process ids here are those inside: whatever is ended this way is ours by construction.
"""

import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.testbed.runs import Run

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

# In the background, in a session of its own, its id written before it becomes the program.
LAUNCH = """
id=$1 log=$2; shift 2
exec </dev/null >>"$log" 2>&1
setsid -f sh -c 'echo $$ >"$0"; exec "$@"' "$id" "$@"
"""


class CommandFailed(Exception):
    """A command inside the test server ended with an error."""


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    command: str
    environment: frozenset[str]
    is_dead: bool
    """But there: threads of it may still be ending and hold its ports. It vanishes when they are done."""


class Daemons:
    """The programs of one test server, by name; *root* is the folder that most of them live in."""

    def __init__(self, run: Run, root: Path, environment: dict[str, str]) -> None:
        self._run = run
        self._root = root
        self._environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", **environment}

    def command(self, *argv: str, root: Path | None = None, user: str = "", check: bool = True) -> str:
        """Run *argv* to its end and return what it prints; *user* is UID:GID."""
        line = self.line(*argv, root=root, user=user)
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        if check and done.returncode != 0:
            raise CommandFailed(
                f"`{' '.join(argv)}` ended with {done.returncode}: {(done.stderr + done.stdout).strip()}"
            )
        return done.stdout

    def line(self, *argv: str, root: Path | None = None, user: str = "") -> list[str]:
        """Return the command line that runs *argv* inside; nothing of our own environment goes along."""
        settings = [f"{key}={value}" for key, value in self._environment.items()]
        return self._run.enter(root or self._root, "env", "-i", *settings, *argv, user=user)

    def launch(self, name: str, *argv: str, root: Path | None = None) -> None:
        """Start *argv* as the daemon called *name*; an assignment before the program sets its environment."""
        log = self._run.folder / "log" / f"{name}.out"
        self._pid_file(name).unlink(missing_ok=True)
        self.command("sh", "-c", LAUNCH, "sh", str(self._pid_file(name)), str(log), "env", *argv, root=root)
        wait_until(lambda: self.pid(name) > 0, f"`{name}` to start")

    def pid(self, name: str) -> int:
        """Return the process id inside of the daemon called *name*; 0 if it was never started."""
        try:
            return int(self._pid_file(name).read_text() or 0)
        except FileNotFoundError:
            return 0

    def is_alive(self, name: str) -> bool:
        pid = self.pid(name)
        return any(process.pid == pid and not process.is_dead for process in self.processes())

    def end(self, name: str, signal: str = "TERM") -> None:
        """Send *signal* to the daemon called *name*, if it runs, and wait until nothing is left of it."""
        pid = self.pid(name)
        if self.is_alive(name):
            self.kill([pid], signal)
        wait_until(
            lambda: all(process.pid != pid for process in self.processes()), f"`{name}` to end by {signal}", within=60
        )

    def kill(self, pids: Iterable[int], signal: str = "KILL") -> None:
        numbers = [str(pid) for pid in pids]
        if numbers:
            self.command("sh", "-c", 'kill -s "$0" "$@"', signal, *numbers, check=False)  # some may have ended by now

    def processes(self) -> list[Process]:
        """Return all processes inside."""
        inside = Path(f"/proc/{self._run.first}/root{self._root}/proc")
        return [found for entry in inside.iterdir() if entry.name.isdigit() and (found := _process(entry))]

    def _pid_file(self, name: str) -> Path:
        return self._run.folder / "pids" / name


def wait_until(is_so: Callable[[], bool], what: str, *, within: float = 20) -> None:
    deadline = time.monotonic() + within
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {within:g} s for {what}")
        time.sleep(0.02)


def _process(entry: Path) -> Process | None:
    try:
        state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return None  # it ended while we looked
    command = _read(entry / "cmdline").replace("\0", " ").strip()
    environment = frozenset(_read(entry / "environ").split("\0"))
    return Process(int(entry.name), int(parent), command, environment, is_dead=state in {"Z", "X"})


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""  # the dead have neither
