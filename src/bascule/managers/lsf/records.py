"""
A job as Application Center tells of it, from any of its calls and under any of its names.

``getfullinfo`` says ``jobId`` and ``jobStatus``, the old interface ``id`` and ``status``. A
task of an array is ``236[5]``, or ``236`` with its index in the name or beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from bascule.managers.lsf.moments import moment_in
from bascule.managers.lsf.payload import Tree, records_in, text_of
from bascule.managers.lsf.reasons import word_in
from bascule.model import Source

ID = re.compile(r"(\d{1,18})(?:\[(\d{1,9})\])?")
_NAME = re.compile(r"(.*?)\[(\d+)\]", re.DOTALL)
_NONE = {"", "-", "null", "N/A"}


@dataclass(frozen=True, slots=True)
class Record:
    """A job, or a task of an array (*index*). *ran* is whether its history has a start, where that was read."""

    id: str
    index: int | None = None
    name: str = ""
    status: str = ""
    user: str = ""
    hosts: tuple[str, ...] = ()
    exit_status: int | None = None
    pending: str = ""
    term: str = ""
    folder: str = ""
    description: str = ""
    submitted: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    source: Source = Source.LIVE
    ran: bool | None = None

    @property
    def key(self) -> str:
        """What it is called, without the indices of an array."""
        return self.name.partition("[")[0]

    @property
    def own_id(self) -> str:
        """The id of the job or task itself."""
        return self.id if self.index is None else f"{self.id}[{self.index}]"


def jobs_in(tree: Tree, source: Source = Source.LIVE) -> list[Record]:
    """Return the jobs that *tree* tells of, in its order."""
    return list(_jobs(tree, source))


def _jobs(tree: Tree, source: Source) -> Iterator[Record]:
    for raw in records_in(tree):
        found = ID.fullmatch(text_of(raw, "jobId", "jobID", "id"))
        status = text_of(raw, "jobStatus", "status", "jobState")
        if found is None or found[1] == "0" or not (status or "jobName" in raw or "name" in raw):
            continue
        name, index = text_of(raw, "jobName", "name"), found[2]
        if task := _NAME.fullmatch(name):
            # Before its start an array may be one line, under its whole name: `key[1-10]`, which is no task.
            name, index = task[1], index or task[2]
        if index is None and (beside := text_of(raw, "arrayIndex", "jobIndex", "jobArrayIndex")).isdecimal():
            index = beside if int(beside) else None
        yield Record(
            id=found[1],
            index=int(index) if index else None,
            name=name,
            status=status,
            user=text_of(raw, "user", "userName"),
            hosts=_hosts(text_of(raw, "exHosts", "execHosts", "exHost")),
            exit_status=_integer(text_of(raw, "exitStatus", "exitCode")),
            pending=_words(text_of(raw, "pendReason", "pendingReason", "suspReason")),
            term=word_in(text_of(raw, "exitReason", "exitInfo", "termReason", "terminationReason")),
            folder=text_of(raw, "execCwd", "cwd"),
            description=text_of(raw, "description", "jobDescription"),
            submitted=_moment(raw, "submitTime"),
            started=_moment(raw, "startTime"),
            ended=_moment(raw, "endTime"),
            source=source,
        )


def _moment(raw: dict[str, Tree], name: str) -> datetime | None:
    if text := text_of(raw, f"{name}GMT"):
        return moment_in(text, is_gmt=True)
    return moment_in(text_of(raw, name))


def _hosts(text: str) -> tuple[str, ...]:
    """Return the hosts in ``4*hostA hostB``, or with commas or colons between them."""
    names = (part.rpartition("*")[2] for part in re.split(r"[\s,:;]+", text) if part not in _NONE)
    return tuple(dict.fromkeys(names))


def _words(text: str) -> str:
    return "" if text in _NONE else " ".join(text.rstrip(";. ").split())[:500]


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
