"""
The shared folder, `files.root`: output, markers, and the folders of jobs.

Whoever may write there could point a name elsewhere. So a path is walked down name by
name from the root, no symbolic link is followed, and only plain files are read.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import PurePosixPath

from bascule.errors import Mistake, Unavailable
from bascule.model import Chunk

MOST = 4 << 20
"""Bytes in one read, whatever is asked for."""
_DOWN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_chunk(root: str, path: str, offset: int, limit: int) -> Chunk:
    """Read a piece of *path*; what does not exist yet is empty."""
    try:
        with _opened(root, path) as file:
            size = os.fstat(file).st_size
            data = os.pread(file, max(0, min(limit, MOST)), max(0, offset)) if offset < size else b""
            return Chunk(data, offset, size)
    except (FileNotFoundError, NotADirectoryError):
        return Chunk(b"", offset, 0)
    except OSError as error:
        raise Unavailable(
            f"`{path}` cannot be read: {error.strerror}", hint="may this user read it, and is the folder mounted here?"
        ) from error


def read_small(root: str, path: str) -> str:
    """Return the text of a small file; empty where there is none."""
    chunk = read_chunk(root, path, 0, 4096)
    return chunk.data.decode(errors="replace")


def exists(root: str, path: str) -> bool:
    """Tell whether *path* is there; with no path, whether the root is: a missing mount is no proof of anything."""
    if not path:
        return os.path.isdir(root)  # noqa: PTH112 - the rest of this file speaks `os` too
    try:
        with _parent(root, path) as (parent, name):
            os.stat(name, dir_fd=parent, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def make(root: str, path: str, user: str) -> None:
    """Make a job's folder beneath *root*, which its user may write to."""
    try:
        with _parent(root, path) as (parent, name):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=parent)
            with _descriptor(os.open(name, _DOWN, dir_fd=parent)) as folder:
                _give(folder, user)
    except OSError as error:
        raise Mistake(
            f"the job's folder `{path}` cannot be made: {error.strerror}",
            hint="may we write to the target's `files.root`? A job's own `workingDirectory` needs no such folder",
        ) from error


def remove(root: str, path: str) -> None:
    """Remove a folder of small files beneath *root*; what is not ours to remove stays."""
    with contextlib.suppress(OSError), _parent(root, path) as (parent, name):
        with _descriptor(os.open(name, _DOWN, dir_fd=parent)) as folder:
            for inside in os.listdir(folder):  # noqa: PTH208 - a descriptor, not a name
                with contextlib.suppress(OSError):
                    os.unlink(inside, dir_fd=folder)
        os.rmdir(name, dir_fd=parent)


def _give(folder: int, user: str) -> None:
    """Let *user*, and nobody else, write to *folder*; where we cannot know them, everybody may, as in /tmp."""
    if os.fstat(folder).st_uid != os.geteuid():
        return
    try:
        owner = pwd.getpwnam(user)
    except KeyError:
        os.fchmod(folder, 0o1777)
        return
    if owner.pw_uid == os.geteuid():
        return
    if os.geteuid() == 0:
        os.fchown(folder, owner.pw_uid, owner.pw_gid)
    else:
        os.fchmod(folder, 0o1777)


@contextlib.contextmanager
def _opened(root: str, path: str) -> Iterator[int]:
    with _parent(root, path) as (parent, name), _descriptor(os.open(name, _FILE, dir_fd=parent)) as file:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise FileNotFoundError(path)
        yield file


@contextlib.contextmanager
def _parent(root: str, path: str) -> Iterator[tuple[int, str]]:
    """Walk down from *root*; yield the last folder and the last name."""
    inside = PurePosixPath(path).relative_to(root).parts
    if not inside or ".." in inside:
        raise FileNotFoundError(path)
    with contextlib.ExitStack() as stack:
        # The root itself is the owner's word, and may be a link.
        here = stack.enter_context(_descriptor(os.open(root, _DOWN & ~os.O_NOFOLLOW)))
        for name in inside[:-1]:
            here = stack.enter_context(_descriptor(os.open(name, _DOWN, dir_fd=here)))
        yield here, inside[-1]


@contextlib.contextmanager
def _descriptor(number: int) -> Iterator[int]:
    try:
        yield number
    finally:
        os.close(number)
