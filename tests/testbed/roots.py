"""
Root folders with another Debian suite's packages, built once and kept in the cache.

Nothing of the server is installed on the machine itself: every version runs in a root of
its own, so its accounts, services and files are not the machine's. A root is built beside
its place and renamed into it when it is whole (``building``).
Used read-only (see ``keeper``), so that it stays what it was when it was built.
"""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.testbed.building import built_once
from tests.testbed.machine import CACHE, Announce, TestbedUnavailable, silent
from tests.testbed.mirror import debian_mirror

RECIPE = 1
"""Raise it when the way of building changes: the roots in the caches are then built anew."""

PATIENCE = 1200
"""Seconds after which a build is given up: one that hangs would hold up every test run."""

FIRST_ID = 20_000
"""User and group ids of the accounts that roots get, in their order."""


@dataclass(frozen=True, slots=True)
class RootSpec:
    name: str
    suite: str
    packages: tuple[str, ...]
    users: tuple[str, ...] = ()
    hooks: tuple[str, ...] = field(default=())
    """Shell lines run at the end of the build, with the root as ``$1``."""

    @property
    def path(self) -> Path:
        recipe = repr((RECIPE, self.suite, self.packages, self.users, self.hooks))
        return CACHE / "roots" / f"{self.name}-{hashlib.sha256(recipe.encode()).hexdigest()[:8]}"

    def user_id(self, user: str) -> int:
        return 0 if user == "root" else FIRST_ID + self.users.index(user)


def ensure(root: RootSpec, announce: Announce = silent) -> Path:
    """Return the folder of *root*, built if it is not there yet."""
    with built_once(root.path, root.name, announce) as build:
        if build is not None:
            _install_builder(announce)
            announce(
                f"testbed: building {root.name} from Debian {root.suite} (once; half a minute where nothing else runs) ..."
            )
            # It takes its own processes and mounts with it.
            tied = ("unshare", "--mount", "--pid", "--mount-proc", "--kill-child")
            build.run(*_recipe(root, build.half), within=PATIENCE, tied=tied)
            _furnish(root, build.half)
    return root.path


def _recipe(root: RootSpec, target: Path) -> list[str]:
    return [
        "mmdebstrap",
        "--mode=root",
        "--variant=essential",
        '--aptopt=Acquire::Check-Valid-Until "false"',  # a mirror may hold a suite past its date
        '--aptopt=Apt::Install-Recommends "false"',
        "--aptopt=Acquire::Retries 3",
        "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        f"--include={','.join(root.packages)}",
        *(f"--customize-hook={hook}" for hook in root.hooks),
        root.suite,
        str(target),
        debian_mirror(),
    ]


def _install_builder(announce: Announce) -> None:
    if shutil.which("mmdebstrap"):
        return
    announce("testbed: installing Debian's package `mmdebstrap`, which builds the root folders ...")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    patient = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"]
    install = [*patient, "install", "-y", "--no-install-recommends", "mmdebstrap"]
    said = ""
    for command in (install, [*patient, "update"], install):  # the lists may be missing or old
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        said = done.stderr.strip() or said
        if shutil.which("mmdebstrap"):
            return
    raise TestbedUnavailable(f"`mmdebstrap` could not be installed: {said[-500:]}")


def _furnish(root: RootSpec, folder: Path) -> None:
    """Give the root what its servers find at run time; it is read-only then."""
    (folder / "etc/hosts").write_text("127.0.0.1 localhost lab\n")
    for user in root.users:
        number = root.user_id(user)
        shell = "/bin/bash"
        _append(folder / "etc/passwd", f"{user}:x:{number}:{number}:{user}:/home/{user}:{shell}")
        _append(folder / "etc/group", f"{user}:x:{number}:")
        _append(folder / "etc/shadow", f"{user}:*:20000:0:99999:7:::")


def _append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line + "\n")
