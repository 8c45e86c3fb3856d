"""
Make the virtual environment that a tool needs, once, and print its ``bin`` folder.

    environment.py NAME... [--into FOLDER]

A NAME is one of the files in ``requirements/``. What they list is installed with its hashes
checked. Without ``--into`` the environment is kept outside the tree, under a name that
changes with the requirements and the Python, so that it is made again only when it must be.
Only the standard library is used: this runs before anything is installed.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
DONE = "installed"


def main() -> None:
    """Print the folder of programs of the environment that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--into", type=Path, help="the folder to make it in")
    asked = parser.parse_args()
    print(environment(*asked.names, into=asked.into))


def environment(*names: str, into: Path | None = None) -> Path:
    """Return the ``bin`` folder of the environment for *names*, made first if it is not there yet."""
    if sys.version_info < OLDEST:
        stop(
            f"Python {platform.python_version()} at {sys.executable} is too old",
            hint=f"name one of {'.'.join(map(str, OLDEST))} or later: make PYTHON=/path/to/python3 ...",
        )
    requirements = [ROOT / "requirements" / f"{name}.txt" for name in names]
    wanted = fingerprint(requirements)
    folder = (into or cache() / f"{'-'.join(names)}-{wanted}").absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once: the second waits and finds it made
        if not is_made(folder, wanted):
            make(folder, requirements)
            (folder / DONE).write_text(wanted)
    return folder / "bin"


def fingerprint(requirements: list[Path]) -> str:
    """Name what the environment depends on: the requirements, and the interpreter that it links to."""
    digest = hashlib.sha256(f"{platform.python_version()} {platform.machine()} {sys.base_prefix}".encode())
    for file in requirements:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache() -> Path:
    """Return the folder for what is kept between runs, outside the tree."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "bascule"


def is_made(folder: Path, wanted: str) -> bool:
    """Tell whether *folder* holds a whole environment of the fingerprint *wanted*, whose Python still runs."""
    done = folder / DONE
    if not done.is_file() or done.read_text() != wanted:
        return False
    return subprocess.run([folder / "bin" / "python", "-c", ""], check=False).returncode == 0


def make(folder: Path, requirements: list[Path]) -> None:
    """Make an empty environment in *folder* and install *requirements* into it."""
    require_ensurepip()
    say(f"installing {', '.join(file.name for file in requirements)} of requirements/ into {folder}")
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True, symlinks=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"]
    hashed = ["--require-hashes", "--only-binary=:all:", *(f"--requirement={file}" for file in requirements)]
    if subprocess.run([*pip, "install", *hashed], check=False, stdout=sys.stderr).returncode:
        stop("pip could not install what is needed", hint="its own words are above; is the package index reachable?")


def require_ensurepip() -> None:
    """See that Python can make environments: Debian keeps that in a package of its own."""
    if importlib.util.find_spec("ensurepip"):
        return
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        stop("this Python cannot make virtual environments", hint=f"as root: apt-get install {package}")
    say(f"this Python cannot make virtual environments: running `apt-get install {package}`")
    # A fresh machine has no lists yet, and an update that fails for one source may do for ours.
    script = f"apt-get update -qq; apt-get install -qq -y {package}"
    settings = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["sh", "-c", script],
        check=False,
        env=settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.stderr.write(done.stdout)
        stop(f"`apt-get install {package}` failed", hint="its own words are above")


def say(line: str) -> None:
    """Tell the person at the terminal; stdout is for the result."""
    print(f"environment: {line}", file=sys.stderr, flush=True)


def stop(line: str, *, hint: str) -> None:
    """End with an error that says what to do."""
    raise SystemExit(f"error: {line}\nhint: {hint}")


if __name__ == "__main__":
    main()
