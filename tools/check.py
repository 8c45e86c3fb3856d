"""
Run tiers of checks in the order given, with progress, and end with what came of each.

    check.py TIER...

Every tier runs, whatever came of the one before; the exit code is 0 only if all passed.
Only the standard library is used: what the tiers need is installed by ``environment.py``.
"""

from __future__ import annotations

import argparse
import os
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
NEEDS_NOTHING = "not (real or root or slow)"


@dataclass(frozen=True)
class Tier:
    """
    Some commands of the test environment; *tests* where pytest is one of them.

    *in_memory* where nothing depends on the disk, and waiting for it would only take time.
    """

    what: str
    commands: tuple[tuple[str, ...], ...]
    tests: bool = False
    in_memory: bool = False


def pytest(name: str, *options: str) -> tuple[str, ...]:
    """Return the command line of pytest, with a report that the totals are taken from."""
    return ("pytest", f"--junit-xml={REPORTS / name}.xml", *options)


TIERS = {
    "lint": Tier("lint and format", (("ruff", "check", "."), ("ruff", "format", "--check", "."))),
    "types": Tier("types", (("mypy",),)),
    # Its cache is by file, and goes stale when a module appears that another file imports.
    "layers": Tier("imports flow down only", (("lint-imports", "--no-logo", "--no-cache"),)),
    "fast": Tier("fast tests", (pytest("fast", "-q", "-n", "2", "-m", NEEDS_NOTHING),), tests=True, in_memory=True),
    "machine": Tier(
        "tests that need root, servers or time",
        (pytest("machine", "-v", "--durations=10", "-m", f"not ({NEEDS_NOTHING})"),),
        tests=True,
    ),
}


def main() -> int:
    """Run the tiers that were asked for; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tiers", nargs="+", choices=TIERS, metavar="TIER", help=", ".join(TIERS))
    asked = parser.parse_args().tiers
    for ignorable in (signal.SIGINT, signal.SIGHUP):
        # A run in the background ignores these, and so would every process that tests interrupt.
        signal.signal(ignorable, signal.SIG_DFL)
    programs = environment("test")
    REPORTS.mkdir(parents=True, exist_ok=True)
    ends = []
    for number, name in enumerate(asked, start=1):
        say(f"[{number}/{len(asked)}] {TIERS[name].what}")
        started = time.monotonic()
        passed = run(name, programs)
        ends.append(f"{'passed' if passed else 'FAILED'}  {TIERS[name].what} ({time.monotonic() - started:.0f} s)")
        say(ends[-1])
    print("", *ends, sep="\n")
    print_totals(asked)
    return int(any(end.startswith("FAILED") for end in ends))


def run(name: str, programs: Path) -> bool:
    """Run one tier; tell whether it passed."""
    settings = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONUNBUFFERED": "1",
    }
    if TIERS[name].in_memory and holds_tests(MEMORY):
        settings["TMPDIR"] = str(MEMORY)
    (REPORTS / f"{name}.xml").unlink(missing_ok=True)
    ends = [
        subprocess.run([programs / program, *arguments], cwd=ROOT, env=settings, check=False).returncode
        for program, *arguments in TIERS[name].commands
    ]
    return not any(ends)


def holds_tests(folder: Path) -> bool:
    """Tell whether tests can work in *folder*: there is room, and scripts in it may run."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    its = os.statvfs(folder)
    return not its.f_flag & os.ST_NOEXEC and its.f_bavail * its.f_frsize > ROOM


def print_totals(names: list[str]) -> None:
    """Print one line that counts the tests of all tiers."""
    reports = [REPORTS / f"{name}.xml" for name in names if TIERS[name].tests]
    suites = [suite for report in reports if report.is_file() for suite in ET.parse(report).iter("testsuite")]
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
