"""
What is said of a job's end beside its state: by the files in its folder, and by LSF's history.

The wrapper writes ``bascule.start``, ``bascule.result`` and ``bascule.failed``; LSF writes
its report, which alone has the ``TERM_`` word. Pure: others bring the texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from bascule.managers.lsf.moments import of_seconds
from bascule.managers.lsf.reasons import TERM, word_in
from bascule.managers.lsf.wrapper import REPORT

_START = re.compile(r"(\d+) (\d+) \.\n?")
_RESULT = re.compile(r"(\d+) (\d+) (\d+) (\d+) \.\n?")
_FAILED = re.compile(r"(.{1,300}) \.\n?")
_REPORT, _LATER = "Sender: LSF System", "The output (if any) follows"
"""How a report begins and ends. A job that is run again has one for each run, and the last counts."""
_DONE = re.compile(r"(?:^|[:;] ?)Done successfully\b")
_CODE = re.compile(r"(?:^|[:;] ?)Exited with exit code (\d+)")
_SIGNAL = re.compile(r"(?:^|[:;] ?)Exited by (?:LSF )?signal (\d+)")
_EXITED = re.compile(r"(?:^|[:;] ?)(?:Exited|Completed <exit>)")
_STARTED = re.compile(r"(?:^|[:;] ?)(?:Starting \(Pid|Dispatched|\[?\d*\]? ?started on)")
_AGAIN = re.compile(r"(?:^|[:;] ?)(?:Job has been requeued|Requeued|Pending: Migrating)")


@dataclass(frozen=True, slots=True)
class End:
    """
    What is known of an end.

    *failed* is what kept the script from starting, *was_asked* that we asked for the end,
    *looked* that the job's folder was looked into: what is not told there did not happen. An *exit_code* that is not None is exact: a *signal* is then told from it.
    """

    exit_code: int | None = None
    signal: int | None = None
    started: datetime | None = None
    ended: datetime | None = None
    failed: str = ""
    term: str = ""
    was_asked: bool = False
    looked: bool = False

    @property
    def is_told(self) -> bool:
        """Tell whether the wrapper has written an end."""
        return bool(self.exit_code is not None or self.failed)

    @property
    def is_plain(self) -> bool:
        """Tell whether nothing but an exit code ended it: a shell says 130 of a child that an interrupt ended."""
        return bool(self.failed) or (self.exit_code is not None and self.exit_code <= 128 and self.signal is None)


def names_of(index: int | None) -> dict[str, str]:
    """Return the files that tell of the end of a job, or of a task, by what they are."""
    task = index or 0
    report = REPORT if index is None else f"{REPORT}.{index}"
    return {
        "start": f"bascule.start.{task}",
        "result": f"bascule.result.{task}",
        "failed": f"bascule.failed.{task}",
        "report": report,
    }


def all_names() -> tuple[str, ...]:
    """Return patterns of the files that tell of the ends of all tasks."""
    return ("bascule.start.*", "bascule.result.*", "bascule.failed.*")


def by_index(files: Mapping[str, bytes], job: str) -> dict[int, End]:
    """Return what *files* tell, by the index of the task (0: the job is no array)."""
    texts: dict[int, dict[str, str]] = {}
    for name, data in files.items():
        what, _, index = name.removeprefix("bascule.").rpartition(".")
        if index.isdecimal() and len(index) < 10:
            texts.setdefault(int(index), {})[what] = data[:4096].decode(errors="replace")
    return {index: from_files(found, job) for index, found in texts.items()}


def from_files(texts: Mapping[str, str], job: str) -> End:
    """Return what the files of *job* say; one that another job left there says nothing."""
    end = End(looked=True, term=word_in(texts.get("report", "").rpartition(_REPORT)[2].partition(_LATER)[0]))
    start = _START.fullmatch(texts.get("start", ""))
    if start is not None and start[1] in {job, "0"}:
        end = replace(end, started=of_seconds(int(start[2])))
    failed = _FAILED.fullmatch(texts.get("failed", ""))
    if failed is not None:
        end = replace(end, failed=failed[1])
    result = _RESULT.fullmatch(texts.get("result", ""))
    if result is not None and result[1] in {job, "0"}:
        code, signal = int(result[3]), int(result[4])
        end = replace(end, exit_code=code, signal=signal or None, ended=of_seconds(int(result[2])))
    return end


def ran_in(events: Iterable[str]) -> bool:
    """Tell whether a job's history has a start."""
    return any(_STARTED.search(event) for event in events)


def outcome_in(events: Iterable[str]) -> tuple[str, int | None, str]:
    """
    Return what a job's history says of it: ``DONE``, ``EXIT``, ``RUN``, ``PEND``; its number; its ``TERM_`` word.

    The word is empty where the history does not say. What came later counts: a job may be requeued.
    """
    word, number, term = "", None, ""
    for event in events:
        if _AGAIN.search(event):
            word, number, term = "PEND", None, ""
        elif _DONE.search(event):
            word, number = "DONE", 0
        elif found := _CODE.search(event):
            word, number = "EXIT", int(found[1])
        elif found := _SIGNAL.search(event):
            word, number = "EXIT", 128 + int(found[1])
        elif _EXITED.search(event):
            word = "EXIT"
        elif _STARTED.search(event) and word in {"", "PEND"}:
            word = "RUN"
        if found := TERM.search(event):
            term = found[0]
    return word, number, term
