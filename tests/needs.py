"""
Say what a test needs of the machine.

Where it is missing the test says so and is skipped; with ``CI=true`` it fails instead,
because there the machine is ours to equip. ``conftest.py`` looks at the marks made here
just before a test runs. A fixture that finds out only later calls `missing`.

    @needs_command("munged", hint="apt-get install munge")
    def test_...
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

CGROUPS = Path("/sys/fs/cgroup")


def needs(what: str, is_there: Callable[[], bool], *, hint: str) -> pytest.MarkDecorator:
    """Mark a test that runs only where *is_there*."""
    return pytest.mark.needs(what, is_there, hint)


def needs_command(name: str, *, hint: str = "") -> pytest.MarkDecorator:
    """Mark a test that runs the program *name*."""
    return needs(f"the program `{name}`", lambda: shutil.which(name) is not None, hint=hint or f"install `{name}`")


def needs_user(name: str) -> pytest.MarkDecorator:
    """Mark a test that acts as the user *name*."""

    def is_there() -> bool:
        return any(line.startswith(f"{name}:") for line in Path("/etc/passwd").read_text().splitlines())

    return needs(f"the user `{name}`", is_there, hint=f"as root: useradd {name}")


def may_make_cgroups() -> bool:
    """Tell whether this process may make a cgroup that limits memory, of either version."""
    unified = (CGROUPS / "cgroup.controllers").is_file()
    if unified and "memory" not in (CGROUPS / "cgroup.subtree_control").read_text().split():
        return False
    trial = CGROUPS / ("" if unified else "memory") / f"bascule-trial-{os.getpid()}"
    try:
        trial.mkdir()
    except OSError:
        return False
    trial.rmdir()
    return True


needs_root = needs("root", lambda: os.geteuid() == 0, hint="run the tests as root")
needs_cgroup = needs("a cgroup of its own with a memory limit", may_make_cgroups, hint="run the tests as root")
needs_debian = needs("Debian", Path("/etc/debian_version").is_file, hint="run the tests on Debian")


def missing(what: str, *, hint: str) -> NoReturn:
    """End the running test for want of *what*: skipped on somebody's machine, failed in CI."""
    end = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
    end(f"needs {what}; {hint}")
