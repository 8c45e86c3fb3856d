"""
The home: the folder in which one installation keeps its state.

It must lie on a local disk, because who drives it is decided by a lock of the operating
system, and such locks cannot be trusted on network file systems.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from bascule.errors import Mistake, StoreFailed
from bascule.platforms.embedded.places import DATABASE, default_folder

MOUNTS = Path("/proc/self/mountinfo")

NETWORK_FILE_SYSTEMS = frozenset(
    {
        "9p",
        "acfs",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "cvmfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "mmfs",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb3",
        "smbfs",
        "wekafs",
    }
)
_NETWORK_FUSE = re.compile(
    r"fuse\.(?:afp|beegfs|ceph|curlftpfs|cvmfs|davfs|gcsfuse|gluster|goofys|juicefs|lizardfs|moosefs|mfs|rclone|s3fs|sshfs|ssh)"
)


@dataclass(frozen=True, slots=True)
class Home:
    """A home's folder, and where things lie in it."""

    path: Path

    @property
    def database(self) -> Path:
        """The one file that holds all objects."""
        return self.path / DATABASE

    @property
    def lock(self) -> Path:
        """Whoever holds a lock on this file drives the home; its content says who that is."""
        return self.path / "driver.lock"

    @property
    def witness(self) -> Path:
        """What tells a restored database from the one that was here; see `Witness`."""
        return self.path / "witness"

    @property
    def secrets(self) -> Path:
        """The folder of secrets: a folder for each, a file for each of its keys."""
        return self.path / "secrets"

    def __str__(self) -> str:
        """As people write it."""
        return str(self.path)


def default_home() -> Path:
    """Return the home of whoever asks: `$BASCULE_HOME`, else a folder in the XDG state folder."""
    return Path(default_folder())


def prepare_home(path: Path, mounts: Path = MOUNTS) -> Home:
    """Make *path* a home that can be written to; raise `Mistake` or `StoreFailed` where it cannot be one."""
    home = Home(path.expanduser().absolute())
    refuse_network(home.path, mounts)
    try:
        home.path.parent.mkdir(parents=True, exist_ok=True)
        home.path.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError as fault:
        raise Mistake(f"home `{home}` is no folder", hint="choose another with `--home` or `$BASCULE_HOME`") from fault
    except NotADirectoryError as fault:
        raise Mistake(
            f"home `{home}` lies below a file", hint="choose another with `--home` or `$BASCULE_HOME`"
        ) from fault
    except OSError as fault:
        raise StoreFailed(
            f"home `{home}` cannot be made: {fault.strerror}",
            hint="choose another with `--home` or `$BASCULE_HOME`",
        ) from fault
    refuse_open_door(home.path)
    if not os.access(home.path, os.W_OK | os.X_OK, effective_ids=True):
        raise StoreFailed(
            f"home `{home}` is read-only for this user",
            hint=f"make it writable (`ls -ld {home}` shows whose it is), or choose another with `--home`",
        )
    return home


def refuse_network(path: Path, mounts: Path = MOUNTS) -> None:
    """Raise `Mistake` where *path* lies on a network file system."""
    kind = file_system_of(path, mounts)
    if kind in NETWORK_FILE_SYSTEMS or _NETWORK_FUSE.match(kind):
        raise Mistake(
            f"home `{path}` lies on a network file system (`{kind}`), where locks cannot be trusted",
            hint="choose a folder on a local disk with `--home` or `$BASCULE_HOME`",
        )


def refuse_open_door(path: Path) -> None:
    """Raise `Mistake` where anybody may put files into the home."""
    if path.stat().st_mode & 0o002:
        raise Mistake(
            f"home `{path}` can be written by everybody",
            hint=f"`chmod 700 {path}`, or choose a folder of your own with `--home`",
        )


def file_system_of(path: Path, mounts: Path = MOUNTS) -> str:
    """Return the kind of file system that *path* lies on or would lie on; empty where it cannot be known."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    real = Path(os.path.realpath(path))
    found = ("", "")
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if len(fields) < 5:
            continue
        # Blanks in paths are written in octal; see proc_pid_mountinfo(5).
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        # A later mount on the same point hides the earlier.
        if len(point) >= len(found[0]) and real.is_relative_to(point):
            found = (point, kinds[0])
    return found[1]
