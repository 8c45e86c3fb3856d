"""A job's files, as far as they lie on this machine: what is in its working directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from bascule.bridge import Bridge
from bascule.errors import Mistake
from bascule.model import Job

MOST_LOOKED_AT = 20_000
"""Entries of a folder; somebody may have run a job in their home."""

SLACK = timedelta(seconds=2)
"""Clocks of file systems are coarse, and what is written last may be seen after the end."""


class Found(NamedTuple):
    """One file: its path in the working directory, and how large it is."""

    path: str
    size: int


async def folder_of(bridge: Bridge, job: Job) -> Path:
    """Return the folder that *job* runs in; raise `Mistake` where it is not on this machine."""
    target = await bridge.store.target(job.target_ref)
    manager = target.spec.manager if target is not None else "?"
    if manager != "local":
        raise Mistake(
            f"job `{job.name}` runs at `{job.spec.target.name}` (manager `{manager}`), whose files cannot be brought here yet",
            hint=f"`bascule logs {job.name}` has its output",
        )
    if job.spec.working_directory is None:
        raise Mistake(f"job `{job.name}` has no working directory of its own", hint="give it `workingDirectory`")
    return existing(Path(job.spec.working_directory), job)


def existing(folder: Path, job: Job) -> Path:
    """Return *folder*; raise `Mistake` where it is not there."""
    if not folder.is_dir():
        raise Mistake(f"the folder `{folder}` of job `{job.name}` is not there", hint="was it removed, or not mounted?")
    return folder


def changed_files(folder: Path, job: Job) -> Iterator[Found]:
    """Yield the files in *folder* that changed while *job* ran; links are not followed."""
    status = job.status
    if status.started_at is None:
        return
    begin = (status.started_at - SLACK).timestamp()
    end = (status.finished_at + SLACK).timestamp() if status.finished_at else float("inf")
    looked_at = 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            looked_at += 1
            if looked_at > MOST_LOOKED_AT:
                return
            path = Path(place) / name
            try:
                found = path.lstat()
            except OSError:
                continue
            if path.is_file() and not path.is_symlink() and begin <= found.st_mtime <= end:
                yield Found(str(path.relative_to(folder)), found.st_size)


def file_in(folder: Path, path: str, job: Job) -> Path:
    """Return the file *path* of *job*; raise `Mistake` where there is none, or it leads out of the folder."""
    root = folder.resolve()
    found = (root / path).resolve()
    if not found.is_relative_to(root):
        raise Mistake(f"`{path}` leads out of the folder of job `{job.name}`", hint="name a file within it")
    if not found.is_file():
        what = "a folder" if found.is_dir() else "not there"
        raise Mistake(f"`{path}` of job `{job.name}` is {what}", hint=f"`bascule files {job.name}` lists the files")
    return found
