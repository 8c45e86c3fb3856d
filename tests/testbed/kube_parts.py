"""What a Kubernetes cluster is made of: a root folder for its nodes, programs compiled here, and two small images."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.testbed import go_programs, roots
from tests.testbed.building import built_once
from tests.testbed.go_programs import GoPrograms, required
from tests.testbed.machine import CACHE, Announce, silent
from tests.testbed.oci import pack
from tests.testbed.roots import RootSpec

CONTAINERS = RootSpec(
    "containers",
    "bookworm",
    (
        *("containerd", "runc", "containernetworking-plugins", "iptables", "conntrack", "ethtool", "socat"),
        *("iproute2", "mount", "procps", "openssl", "busybox-static", "buildah", "ca-certificates"),
    ),
    # kubelet and CNI keep some things at fixed places: these become the run's own.
    hooks=('mkdir -p "$1"/var/lib/cni "$1"/var/lib/kubelet "$1"/var/log/containers "$1"/var/lib/containers',),
)

KUBERNETES_VERSION = required("k8s.io/kubernetes", of="kubernetes")
_STAMP = "k8s.io/component-base/version"
_MAJOR, _MINOR, _ = KUBERNETES_VERSION.removeprefix("v").split(".")

KUBERNETES = GoPrograms(
    "kubernetes",
    stamps=(
        (f"{_STAMP}.gitVersion", KUBERNETES_VERSION),
        (f"{_STAMP}.gitMajor", _MAJOR),
        (f"{_STAMP}.gitMinor", _MINOR),
    ),
)
ETCD = GoPrograms("etcd")
COREDNS = GoPrograms("coredns")
PAUSE = GoPrograms("pause")

SHELL_IMAGE = "localhost/shell:1"
"""In every node: busybox, for pods that only have to do something. Its entry point is `sh`."""

PAUSE_IMAGE = "localhost/pause:1"


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the parts of a cluster lie."""

    root: Path
    programs: dict[str, Path]
    """By the name of their Go module."""
    images: tuple[Path, ...]

    @property
    def kubectl(self) -> Path:
        return self.programs["kubernetes"] / "kubectl"


def ensure(announce: Announce = silent) -> Parts:
    """Build what is not there yet: a quarter of an hour on two cores, once."""
    root = roots.ensure(CONTAINERS, announce)
    modules = (ETCD, PAUSE, COREDNS, KUBERNETES)
    programs = {module.name: go_programs.ensure(module, announce) for module in modules}
    return Parts(root, programs, (_pause_image(announce), _shell_image(root, announce)))


def _pause_image(announce: Announce) -> Path:
    place = CACHE / "images" / f"{PAUSE.path.name}.tar"
    with built_once(place, "the image of pods' first process", announce) as build:
        if build is not None:
            pack(PAUSE.path, build.half, name=PAUSE_IMAGE, entrypoint=("/pause",))
    return place


def _shell_image(root: Path, announce: Announce) -> Path:
    place = CACHE / "images" / f"shell-{CONTAINERS.path.name}.tar"
    with built_once(place, "the image with a shell", announce) as build:
        if build is not None:
            folder = build.half.with_suffix(".folder")
            shutil.rmtree(folder, ignore_errors=True)
            for name in ("bin", "tmp", "etc"):
                (folder / name).mkdir(parents=True)
            (folder / "tmp").chmod(0o1777)
            busybox = root / "bin/busybox"
            shutil.copy(busybox, folder / "bin/busybox")
            listed = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout
            for applet in set(listed.split()) - {"busybox"}:
                (folder / "bin" / applet).symlink_to("busybox")
            (folder / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
            pack(folder, build.half, name=SHELL_IMAGE, entrypoint=("sh",))
            shutil.rmtree(folder)
    return place
