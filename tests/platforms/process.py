"""Real processes that work on a home, for tests that kill and freeze them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.virtual import FakeClock

PREAMBLE = """
import asyncio, os, sys
from pathlib import Path
from bascule.errors import *
from bascule.model import *
from bascule.platforms.embedded import open_store, Settings
from tests.platforms.process import OwnClock
from tests.contracts.platform_world import event, in_phase

home, clock = Path(sys.argv[1]), OwnClock()

def job(name):
    return Job("default", name, "", JobSpec(target=TargetRef("local"), run=Run(script="true")))

def say(*words):
    print(*words, flush=True)
"""


class OwnClock(FakeClock):
    """A clock for a process of its own, on whose loop time is real."""


@contextmanager
def process(home: Path, program: str, *, failpoint: str = "") -> Iterator[subprocess.Popen[str]]:
    """Run *program* after `PREAMBLE`, and kill it at the end; *failpoint* is where it dies by itself."""
    running = subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + program, home],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": f"src{os.pathsep}.", "BASCULE_FAILPOINT": failpoint},
    )
    with running:
        try:
            yield running
        finally:
            running.kill()


def freeze(running: subprocess.Popen[str]) -> None:
    """Stop *running* as Ctrl-Z does; return once it is."""
    running.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, running.pid, os.WSTOPPED)


DRIVE = """
async def main():
    async with open_store(home, clock, drive=True):
        say("drives")
        await asyncio.Event().wait()

asyncio.run(main())
"""
