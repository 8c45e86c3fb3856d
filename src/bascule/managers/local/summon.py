"""Start a supervisor that belongs to nobody: its own session, no terminal, nothing of ours but a log."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from bascule.failpoints import VARIABLE as FAILPOINT

_PASSED_ON = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH", "PYTHONHOME",
    "PYTHONDONTWRITEBYTECODE", "LD_LIBRARY_PATH", FAILPOINT,
)  # fmt: skip
_WITHIN = 60.0
"""Seconds for a shell to start: much longer than it takes, as fifty that start at once may crowd each other out."""


def summon(home: Path, *, idle: float, contain: bool) -> None:
    """Start a supervisor for *home*; it ends at once where there is one already."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment["BASCULE_HOME"] = str(home)  # so that `ps e`, and scripts, can tell whose it is
    source = str(Path(__file__).resolve().parents[3])
    if source not in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (source, environment.get("PYTHONPATH"))))
    module = "bascule.managers.local.supervisor"
    wanted = () if contain else ("--without-cgroups",)
    # A shell in between, which ends at once, makes it the child of nobody here.
    subprocess.run(
        ["/bin/sh", "-c", '"$@" &', "sh", sys.executable, "-m", module, str(home), "--idle", f"{idle:g}", *wanted],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=environment,
        start_new_session=True,
        timeout=_WITHIN,
        check=True,
    )
