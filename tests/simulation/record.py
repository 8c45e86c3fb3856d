"""What the judge is given: everything that happened, as seen from outside the code under test."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from bascule.model import Job, Phase
from tests.fakes.course import OutsideJob
from tests.fakes.ledger import Ledger
from tests.simulation.story import Story


@dataclass(frozen=True, slots=True)
class Saved:
    """One status that a driver saved, at a moment; *job* is what came back from the store."""

    at: float
    by: str
    epoch: int
    job: Job
    removed: bool = False

    def __str__(self) -> str:
        status = self.job.status
        what = "removed" if self.removed else f"{status.phase} {status.reason}".strip()
        return f"{self.by} v{self.job.version} {self.job.name}: {what}, attempt {status.attempt}, id {status.id}"


@dataclass
class Record:
    """One run, after it has happened."""

    story: Story
    ledger: Ledger
    saves: list[Saved] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """What was seen to be wrong while it happened."""
    deeds: list[tuple[float, str]] = field(default_factory=list)
    left: list[OutsideJob] = field(default_factory=list)
    """What is in the manager's live view at the end."""
    jobs: dict[str, Job] = field(default_factory=dict)
    """What is in the store at the end."""
    epochs: list[tuple[int, int]] = field(default_factory=list)
    """Each epoch, and the count of changes at which it began."""
    finals: dict[str, tuple[int, Phase]] = field(default_factory=dict)
    restored: list[float] = field(default_factory=list)
    requests: dict[str, int] = field(default_factory=dict)
    drivers: int = 0
    instances: int = 1
    seconds: float = 0.0
    steps: int = 0

    @property
    def lines(self) -> list[str]:
        """Everything in the order in which it happened, a line each."""
        lines = [(entry.at, f"outside  {entry.what} {entry.id} {entry.key} {entry.note}") for entry in self.ledger]
        lines += [(saved.at, f"store    {saved}") for saved in self.saves]
        lines += [(at, f"deed     {what}") for at, what in self.deeds]
        lines.sort(key=lambda line: line[0])
        return [f"{at:10.3f} {line}" for at, line in lines]

    @property
    def trace(self) -> str:
        """Return a digest of everything that happened: the same seed gives the same."""
        lines = [*self.lines, *(f"{name} {count}" for name, count in sorted(self.requests.items()))]
        return sha256("\n".join(lines).encode()).hexdigest()[:16]

    def of(self, name: str) -> list[Saved]:
        """Return what was saved of the job *name*, oldest first."""
        return [saved for saved in self.saves if saved.job.name == name]
