"""Homes with many jobs, written at once: what would take Bascule hours to come to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from bascule.model import (
    Condition,
    Handle,
    Intent,
    JobSpec,
    JobStatus,
    ManagerView,
    Phase,
    Run,
    Source,
    Target,
    TargetRef,
    to_json,
)
from bascule.platforms.embedded import open_store
from bascule.platforms.embedded.home import DATABASE
from bascule.wiring import SystemClock
from bench.simulated import SUBMITTED, key_of

SCRIPT = "#!/bin/sh\n" + "echo a line of a script\n" * 20
AT = datetime.fromtimestamp(SUBMITTED, UTC)
PLACE = "PLACE-OF-KEY"
COLUMNS = (
    "id, namespace, name, uid, stem, version, generation, live, target_namespace, target, phase, reason, outside_id,"
    " attempt, exit_code, created_at, started_at, finished_at, deleted_at, message, labels, annotations, status"
)


def spec(target: str) -> JobSpec:
    """Return what all these jobs ask for."""
    return JobSpec(target=TargetRef(target), run=Run(script=SCRIPT))


async def make(home: Path, target: Target, *, running: int = 0, finished: int = 0) -> None:
    """Make a home with so many jobs at *target*, running ones (under the ids from 1 on) first."""
    async with open_store(home, SystemClock(), drive=True) as store:
        await store.put_target(target)
    with closing(sqlite3.connect(home / DATABASE, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        first = database.execute("SELECT seq FROM meta").fetchone()[0] + 1
        marks = ", ".join("?" * len(COLUMNS.split(",")))
        database.execute("BEGIN")
        text = to_json(spec(target.name)).decode()
        database.executemany(
            f"INSERT INTO jobs ({COLUMNS}) VALUES ({marks})", _rows(first, target.name, running, finished)
        )
        last = first + running + finished - 1
        database.executemany("INSERT INTO specs VALUES (?, ?)", ((row, text) for row in range(first, last + 1)))
        database.execute("UPDATE meta SET seq = ?", (last,))
        database.execute("COMMIT")
    (home / "witness").unlink(missing_ok=True)


def _rows(first: int, target: str, running: int, finished: int) -> Iterator[tuple[object, ...]]:
    at = int(AT.timestamp() * 1_000_000)
    going, over = (to_json(_status(phase)).decode() for phase in (Phase.RUNNING, Phase.SUCCEEDED))
    for number in range(1, running + finished + 1):
        live = number <= running
        status = (going if live else over).replace("KEY", key_of(number)).replace("NUMBER", str(number))
        yield (
            first + number - 1, "default", f"job-{number}", f"uid-{number}", f"stem-{number}", first + number - 1, 1, live,
            "default", target, "Running" if live else "Succeeded", "", str(number), 1, None if live else 0, at, at,
            None if live else at, None, "", "{}", "{}", status,
        )  # fmt: skip


def _status(phase: Phase) -> JobStatus:
    """Return the status of a job as Bascule itself leaves it after it has seen it run, or end."""
    return JobStatus(
        phase=phase,
        message="running on n1" if phase is Phase.RUNNING else "COMPLETED",
        id="NUMBER",
        key="KEY",
        attempt=1,
        exit_code=None if phase is Phase.RUNNING else 0,
        manager=ManagerView(state="RUNNING" if phase is Phase.RUNNING else "COMPLETED", nodes=("n1",)),
        observed_at=AT,
        observed_by=Source.LIVE,
        submitted_at=AT,
        started_at=AT,
        finished_at=None if phase is Phase.RUNNING else AT,
        intent=Intent(at=AT, asked_at=AT, held=True),
        handle=Handle(id="NUMBER", key="KEY", place='{"folder":"/scratch/bascule/KEY"}'),
        released_at=AT,
        observed_generation=1,
        conditions=tuple(Condition(word, "True", word, "", AT, 1) for word in ("Accepted", "Submitted")),
    )
