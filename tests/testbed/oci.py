"""Pack a folder as an image that containerd imports: one layer, in the archive form of the Open Container Initiative."""

import gzip
import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Sequence
from pathlib import Path

MEDIA = "application/vnd.oci.image"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def pack(folder: Path, archive: Path, *, name: str, entrypoint: Sequence[str]) -> None:
    """Write *archive*, an image called *name* (`localhost/pause:1`), made of all that is in *folder*."""
    layer = _layer(folder)
    config = {
        "architecture": MACHINES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Entrypoint": list(entrypoint), "Env": [PATH]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    blobs: dict[str, bytes] = {}

    def blob(content: bytes, media: str) -> dict[str, object]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": f"{MEDIA}.{media}", "digest": f"sha256:{digest}", "size": len(content)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": blob(json.dumps(config).encode(), "config.v1+json"),
        "layers": [blob(gzip.compress(layer, 1, mtime=0), "layer.v1.tar+gzip")],
    }
    top = blob(json.dumps(manifest).encode(), "manifest.v1+json")
    top["annotations"] = {"io.containerd.image.name": name}
    index = {"schemaVersion": 2, "manifests": [top]}
    with tarfile.open(archive, "w") as tar:
        _add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        _add(tar, "index.json", json.dumps(index).encode())
        for path, content in blobs.items():
            _add(tar, path, content)


def _layer(folder: Path) -> bytes:
    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = 0
        return entry

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in sorted(path.name for path in folder.iterdir()):
            tar.add(folder / name, arcname=name, filter=plain)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, path: str, content: bytes) -> None:
    entry = tarfile.TarInfo(path)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
