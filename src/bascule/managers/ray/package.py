"""
What a job brings along, as the zip that Ray unpacks for its working directory.

The same files give the same bytes and the same name, so that they are uploaded once. A
package with secrets in it is named by chance instead: a name made of them would give them away
to whoever can guess.
"""

from __future__ import annotations

import hashlib
import io
import secrets as chance
import shlex
import zipfile
from collections.abc import Mapping
from typing import NamedTuple

from bascule.errors import Mistake
from bascule.model import Job

OURS = ".bascule"
SCRIPT = f"{OURS}/script"
SECRETS = f"{OURS}/secrets"
LARGEST = 100 << 20
"""What a head takes (`DASHBOARD_CLIENT_MAX_SIZE`)."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_FILE, _PROGRAM, _PRIVATE = 0o100644, 0o100755, 0o100600


class Package(NamedTuple):
    """A zip, and the name that Ray knows it by."""

    name: str
    data: bytes

    @property
    def uri(self) -> str:
        """What a runtime environment calls it."""
        return f"gcs://{self.name}"


def package_of(job: Job, secrets: Mapping[str, str]) -> Package | None:
    """Return what *job* brings along; None where that is nothing. Raises `Mistake` where it is too much."""
    files = {each.path: ((each.content or "").encode(), _FILE) for each in job.spec.files.inputs}
    if job.spec.run is not None and job.spec.run.script is not None:
        files[SCRIPT] = (job.spec.run.script.encode(), _PROGRAM)
    if secrets:
        files[SECRETS] = (_exports(secrets), _PRIVATE)
    if not files:
        return None
    data = _zipped(files)
    if len(data) > LARGEST:
        raise Mistake(
            f"job `{job.name}` brings {len(data):,} bytes along, and Ray takes {LARGEST:,}",
            hint="put large files where the cluster can read them",
        )
    digest = chance.token_hex(16) if secrets else hashlib.blake2b(data, digest_size=16).hexdigest()
    return Package(f"_ray_pkg_{digest}.zip", data)


def _exports(secrets: Mapping[str, str]) -> bytes:
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(secrets.items())).encode()


def _zipped(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            content, mode = files[path]
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # whose modes are those of Unix
            entry.external_attr = mode << 16
            archive.writestr(entry, content)
    return whole.getvalue()
