"""
The image of Bascule, built from this tree's ``Containerfile`` as a release would be.

Only its base is another: there is no registry of images here, so Debian's packages are put
together to one (`BASE`). Built anew when the tree's sources change; layers that stay are kept.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

from tests.testbed import kube_parts, roots, runs
from tests.testbed.building import Build, built_once
from tests.testbed.machine import CACHE, Announce, silent
from tests.testbed.roots import RootSpec

TREE = Path(__file__).resolve().parents[2]

BASE = RootSpec("python", "trixie", ("python3", "python3-venv", "ca-certificates"))
"""What `python:3.13-slim` holds, roughly."""

IMAGE = "localhost/bascule:test"

SOURCES = ("Containerfile", ".containerignore", "LICENSE", "README.md", "pyproject.toml", "requirements", "src")

KEPT = 3
"""Images of earlier states of the tree that stay in the cache."""

PATIENCE = 900

# In the root folder with buildah. Its storage is kept, and with it the layers that have not changed.
SCRIPT = """
set -eu
base=$1 image=$2 archive=$3
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=overlay
exec 9>/var/lib/containers/lock
flock 9                                             # the storage is that of all trees
buildah rm --all >/dev/null                         # left by builds that were killed
if [ "$(buildah images --all --quiet | wc -l)" -gt 60 ]; then buildah rmi --all --force >/dev/null; fi
if ! buildah inspect "$base" >/dev/null 2>&1; then
    container=$(buildah from scratch)
    buildah add --quiet "$container" /tmp/base /
    buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
    buildah commit --quiet --rm "$container" "$base"
fi
buildah bud --layers --quiet --build-arg "BASE=$base" --volume /tmp/certs:/etc/ssl/certs:ro \
    --volume "$PIP_CONF:/etc/pip.conf:ro" --tag "$image" --file /tmp/tree/Containerfile /tmp/tree
buildah push --quiet "$image" "oci-archive:$archive:$image"
"""

PIP_SETTINGS = ("cert", "default-timeout", "extra-index-url", "index-url", "proxy", "timeout", "trusted-host")


def path() -> Path:
    """Return where the image of the tree as it is now lies when it is built."""
    digest = hashlib.sha256(repr((SCRIPT, BASE.path.name)).encode())
    for name in SOURCES:
        place = TREE / name
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(TREE)}\0".encode() + file.read_bytes() + b"\0")
    return CACHE / "images" / f"bascule-{digest.hexdigest()[:12]}.tar"


def ensure(announce: Announce = silent) -> Path:
    """Return the archive with the image `IMAGE`, built if it is not there yet."""
    place = path()
    with built_once(place, "the image of Bascule", announce) as build:
        if build is not None:
            root, base = roots.ensure(kube_parts.CONTAINERS, announce), roots.ensure(BASE, announce)
            announce("testbed: building the image of Bascule (again when its sources change; half a minute) ...")
            _build(build, root, base)
            _forget_old(keep=place)
    return place


def _build(build: Build, root: Path, base: Path) -> None:
    storage = CACHE / "images" / "storage"
    storage.mkdir(exist_ok=True)
    runs.sweep()
    folder = runs.new_folder()
    (folder / "pip.conf").write_text(_pip_conf())
    binds = {
        "/tmp/base": str(base),
        "/tmp/tree": str(TREE),
        "/tmp/certs": "/etc/ssl/certs",
        "/var/lib/containers": str(storage),
        "/tmp/images": str(build.half.parent),
    }
    run = runs.keep(folder, [root], binds)
    try:
        settings = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", f"PIP_CONF={folder}/pip.conf")
        archive = f"/tmp/images/{build.half.name}"
        command = ("sh", "-c", SCRIPT, "sh", f"localhost/{BASE.path.name}", IMAGE, archive)
        build.run(*run.enter(root, "env", "-i", *settings, *command), within=PATIENCE)
    finally:
        run.stop()


def _pip_conf() -> str:
    """Return how this machine's own pip finds its packages; the build's shall find them there too."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    found = {}
    for line in sorted(listed.stdout.splitlines(), key=lambda line: line.startswith(":env:")):  # which counts more
        key, _, value = line.partition("=")
        found[key.rpartition(".")[2]] = value.strip("'")
    return "\n".join(["[global]", *(f"{key} = {found[key]}" for key in PIP_SETTINGS if key in found)]) + "\n"


def _forget_old(*, keep: Path) -> None:
    found = sorted(keep.parent.glob("bascule-*.tar"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in found[KEPT:]:
        if old != keep:
            old.unlink(missing_ok=True)
