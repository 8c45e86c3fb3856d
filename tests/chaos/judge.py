"""
The verdict on a run: what the jobs wrote when they ran, and Slurm's own records, against what Bascule says.

Pure. Nothing that Bascule believes excuses anything: a job that ran twice wrote two lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bascule.model import Job, Phase
from tests.testbed.slurm_records import JobRecord

GONE = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "REQUEUED", "PREEMPTED", "BOOT_FAIL")
STUCK = ("RUNNING", "COMPLETING")


@dataclass(frozen=True, slots=True)
class Line:
    """What a job wrote: its name in Slurm, which is the key of an attempt, its id, and that it began or ended."""

    key: str
    id: str
    what: str


@dataclass(slots=True)
class Verdict:
    """What is wrong, and what Slurm itself did wrong, which is excused and counted."""

    faults: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)
    runs: int = 0


def lines_of(text: str) -> list[Line]:
    """Read what the jobs wrote."""
    return [Line(*words) for line in text.splitlines() if len(words := line.split()) == 3]


def judge(
    jobs: Iterable[Job], lines: Sequence[Line], records: Sequence[JobRecord], *, forgetful: bool = False
) -> Verdict:
    """
    Judge a run that has come to rest.

    *forgetful*: slurmctld was killed, and may have run again, under the same id, what it
    had not yet noted as started, may wait for ever for the end of a job that ended meanwhile, or
    may have forgotten one that it had not yet noted at all, and that did not come to its end: Bascule
    can know no more than it says, and calls the last `Unknown`. Two ids for one attempt are never excused.
    """
    verdict = Verdict()
    jobs = list(jobs)
    owner = {key: job for job in jobs for key in keys_of(job)}
    began: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        if line.what == "began":
            began[line.key].append(line.id)
    ended = {line.key for line in lines if line.what == "ended"}
    verdict.runs = len(began)
    for key, ids in began.items():
        if key not in owner:
            verdict.faults.append(f"`{key}` ran, and no job has such an attempt")
        if len(set(ids)) > 1:
            verdict.faults.append(f"`{key}` ran under {len(set(ids))} ids: {', '.join(ids)}")
        elif len(ids) > 1:
            words = f"`{key}` ran {len(ids)} times as job {ids[0]}"
            (verdict.excused if forgetful else verdict.faults).append(words)
    stuck = {(record.name, record.id) for record in records if record.state in STUCK} if forgetful else set()
    verdict.excused += [f"Slurm says for ever that `{key}` runs, as job {number}" for key, number in sorted(stuck)]
    known = {(record.name, record.id) for record in records}
    for job in jobs:
        status = job.status
        if (status.key, status.id) in stuck and status.phase is Phase.RUNNING:
            continue
        is_forgotten = forgetful and status.id and (status.key, status.id) not in known and status.key not in ended
        if is_forgotten and status.phase is Phase.UNKNOWN:
            verdict.excused.append(f"Slurm has forgotten `{status.key}`, job {status.id}")
            continue
        if not status.phase.is_final:
            verdict.faults.append(f"`{job.name}` is lost: still {status.phase.value} ({status.message})")
        elif status.phase is Phase.SUCCEEDED and status.key not in ended:
            verdict.faults.append(f"`{job.name}` is called Succeeded, and its attempt `{status.key}` never ended")
        elif status.phase is not Phase.SUCCEEDED and not (status.phase is Phase.CANCELLED and job.spec.cancel):
            verdict.faults.append(f"`{job.name}` is lost: {status.phase.value} {status.reason} ({status.message})")
    for record in records:
        if not record.state.startswith(GONE) and (record.name, record.id) not in stuck:
            verdict.faults.append(f"`{record.name}` was left behind: job {record.id} is {record.state}")
    return verdict


def keys_of(job: Job) -> set[str]:
    """Return the keys of all attempts of *job*."""
    return {attempt.key for attempt in job.status.attempts} | ({job.status.key} if job.status.key else set())
