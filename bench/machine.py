"""Which machine this is, and how busy it was with other work."""

from __future__ import annotations

import os
import platform
import sqlite3
import time
from pathlib import Path


def here() -> dict[str, str]:
    """Return it in words."""
    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": f"{os.cpu_count()} x {model or platform.machine()}",
        "memory": f"{memory:.0f} GiB",
        "system": f"Linux {platform.release()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}",
        "load": f"{os.getloadavg()[1]:.1f}",
        "day": time.strftime("%Y-%m-%d"),
    }
