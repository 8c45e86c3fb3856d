"""What a measurement gives: a ratio or a count, what it is made of, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

Direction = Literal["more", "less"]


@dataclass(frozen=True, slots=True)
class Goal:
    """A row of the table: *least* must be met, *aim* is where we want to be; *better* is the good direction."""

    name: str
    what: str
    least: tuple[float, ...]
    aim: tuple[float, ...]
    better: Direction = "more"
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One row, measured: *values* as many as the goal has, *parts* what they were computed from."""

    goal: str
    values: tuple[float, ...]
    parts: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, list[tuple[float, float]]] = field(default_factory=dict)
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A figure, and the machine that it was measured on."""

    figure: Figure
    machine: Mapping[str, str]

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def read(cls, plain: dict[str, Any]) -> Self:
        """Read what `plain` made."""
        figure = plain["figure"]
        return cls(Figure(**{**figure, "values": tuple(figure["values"])}), plain["machine"])


GOALS = (
    Goal("submit-held", "submits/s, held and released, against a bare keep-alive loop", (0.8,), (0.95,)),
    Goal("submit-direct", "submits/s with `submission: Direct`, against a bare loop", (0.8,), (0.95,)),
    Goal("requests", "requests per job-hour, 1,000 running jobs", (1.2,), (0.15,), "less"),
    Goal(
        "bytes", "bytes per job-hour, 1 % of 1,000 jobs change a minute, against the full list", (0.2,), (0.02,), "less"
    ),
    Goal("memory", "memory per live job, slope from 10,000 to 100,000", (64.0,), (8.0,), "less", "KiB"),
    Goal("crowd", "live jobs that one core watches at 50 % use, 30 s interval", (20_000.0,), (100_000.0,)),
    Goal("accepts", "durable accepts/s against SQLite's own commits/s", (0.5,), (3.0,)),
    Goal(
        "recovery",
        "kill -9 with 100,000 live jobs: first right decision; everything fresh",
        (30.0, 120.0),
        (5.0, 35.0),
        "less",
        "s",
    ),
    Goal("history", "submit rate with 1,000,000 finished jobs kept, against none", (0.8,), (0.95,)),
    Goal("bulkhead", "p99 of nine healthy targets while the tenth hangs, against ten healthy", (1.5,), (1.1,), "less"),
    Goal("ray-submit", "submits/s to Ray, against a bare keep-alive loop", (0.8,), (0.95,)),
    Goal("ray-requests", "requests per job-hour to Ray, were there 1,000 jobs", (1.2,), (0.36,), "less"),
    Goal("table", "`bascule get jobs --cached`, 10,000 jobs, against a bare sqlite3 script", (6.0,), (3.0,), "less"),
)


def meets(goal: Goal, figure: Figure, wanted: tuple[float, ...]) -> bool:
    """Tell whether every value of *figure* is as good as *wanted*."""
    pairs = zip(figure.values, wanted, strict=True)
    return all(value >= bound if goal.better == "more" else value <= bound for value, bound in pairs)
