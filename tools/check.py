"""
Run tiers of checks in the order given, with progress, and end with what came of each.

    check.py TIER...

Every tier runs, whatever came of the one before; the exit code is 0 only if all passed. What
pytest said at its end is said again at the very end, so that nobody has to look for it.
Only the standard library is used: what the tiers need is installed by ``environment.py``.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from environment import ROOT, environment

REPORTS = ROOT / ".build" / "reports"
MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3
NEEDS_NOTHING = "not (real or root or slow or kubernetes)"
TAKES_TIME = "(real or root or slow) and not (alone or kubernetes)"
# Most tests wait for a process, a server or a timer for most of their time: two at once suit two cores.
# What is side by side in the tree stays in one process while both have work, and with it the servers that it shares.
SIDE_BY_SIDE = ("--numprocesses=2", "--dist=worksteal")


@dataclass(frozen=True)
class Tier:
    """
    Some commands of the test environment.

    *in_memory* where nothing depends on the disk, and waiting for it would only take time.
    """

    what: str
    commands: tuple[tuple[str, ...], ...]
    in_memory: bool = False


def pytest(name: str, *options: str) -> tuple[str, ...]:
    """Return the command line of pytest, with a report that the totals are taken from."""
    return ("pytest", f"--junit-xml={report(name)}", *options)


def report(name: str) -> Path:
    """Return where pytest leaves what came of the tests called *name*."""
    return REPORTS / f"{name}.xml"


TIERS = {
    "lint": Tier("lint and format", (("ruff", "check", "."), ("ruff", "format", "--check", "."))),
    "types": Tier("types", (("mypy",),)),
    # Its cache is by file, and goes stale when a module appears that another file imports.
    "layers": Tier("imports flow down only", (("lint-imports", "--no-logo", "--no-cache"),)),
    "fast": Tier(
        "fast tests", (pytest("fast", "-q", *SIDE_BY_SIDE, "-m", f"{NEEDS_NOTHING} and not long"),), in_memory=True
    ),
    "long": Tier(
        "tests that take seconds",
        (pytest("long", "-q", *SIDE_BY_SIDE, "-m", f"{NEEDS_NOTHING} and long"),),
        in_memory=True,
    ),
    "machine": Tier(
        "tests that need root, servers or time",
        (
            pytest("machine", "-v", "--durations=30", *SIDE_BY_SIDE, "-m", TAKES_TIME),
            pytest("alone", "-v", "--durations=0", "--durations-min=1", "-m", "alone and not kubernetes"),
        ),
    ),
    "kubernetes": Tier(
        "tests that need Kubernetes",
        (pytest("kubernetes", "-v", "--durations=30", *SIDE_BY_SIDE, "-m", "kubernetes"),),
    ),
}


def main() -> int:
    """Run the tiers that were asked for; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tiers", nargs="+", choices=TIERS, metavar="TIER", help=", ".join(TIERS))
    asked = parser.parse_args().tiers
    for ignorable in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        # A run in the background ignores these, and so would every process that tests interrupt.
        signal.signal(ignorable, signal.SIG_DFL)
    programs = environment("test")
    REPORTS.mkdir(parents=True, exist_ok=True)
    for old in REPORTS.glob("*.xml"):
        old.unlink()
    ends, closings = [], []
    for number, name in enumerate(asked, start=1):
        say(f"[{number}/{len(asked)}] {TIERS[name].what}")
        started = time.monotonic()
        passed, closing = run(TIERS[name], programs)
        ends.append(f"{'passed' if passed else 'FAILED'}  {TIERS[name].what} ({time.monotonic() - started:.0f} s)")
        closings += closing
        say(ends[-1])
    print("", *ends, "", *closings, sep="\n")
    print_totals()
    return int(any(end.startswith("FAILED") for end in ends))


def run(tier: Tier, programs: Path) -> tuple[bool, list[str]]:
    """Run one tier; tell whether it passed, and how pytest closed each time."""
    settings = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONUNBUFFERED": "1",
    }
    if tier.in_memory and holds_tests(MEMORY):
        settings["TMPDIR"] = str(MEMORY)
    codes, closings = [], []
    for program, *arguments in tier.commands:
        command = [str(programs / program), *arguments]
        if program == "pytest":
            code, closing = listen([*command, f"--color={'yes' if sys.stdout.isatty() else 'no'}"], settings)
            closings.append(closing)
        else:
            code = subprocess.run(command, cwd=ROOT, env=settings, check=False).returncode
        codes.append(code)
    return not any(codes), closings


def listen(command: list[str], settings: dict[str, str]) -> tuple[int, str]:
    """Run *command*, pass on what it prints, and return its exit code and how pytest closed."""
    printed = bytearray()
    with subprocess.Popen(command, cwd=ROOT, env=settings, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        while piece := process.stdout.read(65536):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            printed += piece
    lines = printed.decode(errors="replace").rstrip().splitlines() or [""]
    bad = [line for line in lines if re.match(r"(\x1b\[[\d;]*m)*(FAILED|ERROR)(\x1b\[[\d;]*m)* tests/", line)]
    return process.returncode, "\n".join([*bad, lines[-1]])


def holds_tests(folder: Path) -> bool:
    """Tell whether tests can work in *folder*: there is room, and scripts in it may run."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    its = os.statvfs(folder)
    return not its.f_flag & os.ST_NOEXEC and its.f_bavail * its.f_frsize > ROOM


def print_totals() -> None:
    """Print one line that counts the tests of all tiers."""
    suites = [suite for report in REPORTS.glob("*.xml") for suite in ET.parse(report).iter("testsuite")]
    if not suites:
        return
    total, bad, skipped = (
        sum(int(suite.get(key, 0)) for suite in suites for key in keys)
        for keys in (("tests",), ("failures", "errors"), ("skipped",))
    )
    print(f"total: {total - bad - skipped} passed, {bad} failed, {skipped} skipped")


def say(line: str) -> None:
    """Show where the run is, apart from what the tools print."""
    print(f"\n== {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
