"""
What managers say: handles, reports and answers.

A manager translates its own words into these and nothing else of it is seen further
in. Three answers to "where is it?" are kept apart everywhere: a `Report`, `Absent`
(with evidence), and `CannotTell`.
"""

from __future__ import annotations

from datetime import datetime

from bascule.model.phase import Phase, Source
from bascule.model.spec import Noun

_LONGEST_LIST = 60
"""Characters of a list of indices in a sentence; the whole of it stands beside."""


class Handle(Noun, frozen=True):
    """
    How a manager's job is named.

    Ids are reused by real managers, so a job is its id and *key* and, where the manager
    tells it, *submitted_at*. An empty key is a job that was adopted by its id alone.
    *instance* names the run of the manager that gave the id, where that matters (a Ray
    session); *place* is the manager's own note (a folder, a session), opaque to the core.
    """

    id: str
    key: str = ""
    submitted_at: datetime | None = None
    instance: str = ""
    place: str = ""


class Tasks(Noun, frozen=True):
    """
    How the tasks of an array stand; *failed_indices* as ``4,17-19``.

    *indices* says which there are, where the job's own spec need not (an adopted one).
    """

    total: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    running: int = 0
    failed_indices: str = ""
    indices: str = ""

    @property
    def done(self) -> int:
        """How many have ended, however."""
        return self.succeeded + self.failed + self.cancelled

    @property
    def summary(self) -> str:
        """As a sentence for a person: ``41 of 100 done, 1 failed (17), 10 running``."""
        words = f"{self.done} of {self.total} done"
        if self.failed:
            words += f", {self.failed} failed ({_shortened(self.failed_indices)})"
        if self.cancelled:
            words += f", {self.cancelled} cancelled"
        return f"{words}, {self.running} running" if self.running else words


class Report(Noun, frozen=True, tag=True):
    """
    What a manager says of one job.

    *phase* None is a word we do not know: the job keeps its phase. A final phase counts
    only once *settled* (Slurm's COMPLETING is not). *state* and *why* are the manager's
    own words, *explanation* a sentence for a person.
    """

    phase: Phase | None
    state: str = ""
    reason: str = ""
    why: str = ""
    explanation: str = ""
    exit_code: int | None = None
    signal: int | None = None
    nodes: tuple[str, ...] = ()
    restarts: int = 0
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    expected_start: datetime | None = None
    settled: bool = True
    source: Source = Source.LIVE
    tasks: Tasks | None = None

    @property
    def is_over(self) -> bool:
        """Tell whether the job has ended and the manager is done with it."""
        return self.phase is not None and self.phase.is_final and self.settled


class Absent(Noun, frozen=True, tag=True):
    """
    The manager has no such job: its live view and its history were both read whole.

    *evidence* says what was read, for a person; *as_of* when; *instance* as in `Health`.
    """

    evidence: str
    as_of: datetime
    instance: str = ""


class CannotTell(Noun, frozen=True, tag=True):
    """The manager answers, and cannot tell (no history, history incomplete)."""

    why: str


class Match(Noun, frozen=True):
    """A job found by its key. *held* is our own two-phase hold, not yet released."""

    handle: Handle
    report: Report
    held: bool = False


class Found(Noun, frozen=True):
    """At least one job bears the key, oldest first."""

    matches: tuple[Match, ...]


Answer = Report | Absent | CannotTell


class Observation(Noun, frozen=True):
    """
    One answer for many jobs.

    *answers* is by `Handle.id`; a handle that is not in it was not covered (a partial
    list), which is no news. *unchanged* says that nothing moved since *cursor*.
    """

    as_of: datetime
    answers: dict[str, Answer] = {}
    unchanged: bool = False
    cursor: str = ""


class Stray(Noun, frozen=True):
    """A job on the manager that bears a key of ours; *held* as in `Match`."""

    key: str
    handle: Handle
    held: bool
    over: bool = False


class Chunk(Noun, frozen=True):
    """A piece of a file: *data* from *offset*; *size* is what the file has now, *gone* that it cannot be read."""

    data: bytes
    offset: int
    size: int
    gone: bool = False


class Check(Noun, frozen=True):
    """One step of a probe, in the order in which it was made."""

    name: str
    ok: bool
    detail: str = ""
    hint: str = ""


class Health(Noun, frozen=True):
    """
    What a probe found: `Reachable`, `Authenticated`, `Compatible`, each with its step.

    *instance* names this run of a manager that forgets its jobs when it is started anew.
    """

    reachable: bool
    authenticated: bool
    compatible: bool
    version: str = ""
    message: str = ""
    hint: str = ""
    checks: tuple[Check, ...] = ()
    instance: str = ""


def _shortened(indices: str) -> str:
    if len(indices) <= _LONGEST_LIST:
        return indices
    return f"{indices[:_LONGEST_LIST].rpartition(',')[0]},..."
