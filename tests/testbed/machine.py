"""
What the real test servers need of the machine, and where they keep things.

Says *why not* in words where something is missing, so that a fixture can skip with a
reason. Changes nothing: ``roots`` builds, ``runs`` starts.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bascule"
"""Read once: tests move HOME about for the program under test, not for us."""

Announce = Callable[[str], None]


class TestbedUnavailable(Exception):
    """This machine cannot run the test server; the message says what is missing."""

    __test__ = False


def silent(line: str) -> None:
    """Announce nothing."""


def os_release() -> dict[str, str]:
    path = Path("/etc/os-release")
    lines = path.read_text().splitlines() if path.exists() else []
    return {key: value.strip('"') for key, _, value in (line.partition("=") for line in lines)}


def why_not() -> str:
    """Return what this machine lacks for servers in roots of their own; empty if nothing."""
    if os.geteuid() != 0:
        return "must run as root: the servers live in namespaces and root folders of their own"
    if os_release().get("ID") != "debian":
        return "must run on Debian: the servers are built from its packages"
    for program in ("apt-get", "nsenter", "chroot", "unshare", "setpriv"):
        if shutil.which(program) is None:
            return f"there is no `{program}` on this machine"
    if not _may_mount():
        return "this root may not create mount and process namespaces (a container without CAP_SYS_ADMIN?)"
    return ""


def _may_mount() -> bool:
    cap_sys_admin = 21
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> cap_sys_admin & 1)
    return False
