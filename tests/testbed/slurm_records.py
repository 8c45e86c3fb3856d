"""
What Slurm itself says about its jobs: the judge of what the program under test did.

Read from the controller's memory (``scontrol``) and from the list of ended runs that it
writes beside it: neither the age of a job nor a requeue takes anything away.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobRecord:
    """
    One run of one job.

    A job that was requeued has a record for each run, under the same id; the ended ones are
    `REQUEUED` or `NODE_FAIL`. A job that a killed controller forgot has none, if it had not
    ended by then, and its id may be another job's.
    """

    id: str
    """As people write it: `12`, `12_3` for a task of an array, `12_[0-4]` for those that wait."""
    name: str
    user: str
    state: str
    exit_code: int
    signal: int
    """125 is Slurm's own for a job out of memory."""
    submitted: str
    """Set anew when the loss of a node requeues the job, so no part of its identity."""
    started: str
    ended: str
    node: str
    restarts: int = 0
    """How often the job was requeued; known only while the controller remembers it."""
    comment: str = ""


def merge(shown: str, ended: str) -> list[JobRecord]:
    """Return a record for each run in what ``scontrol -o show jobs`` prints and the list of ended runs holds."""
    runs: dict[tuple[str, str, str], JobRecord] = {}
    for line in [*ended.splitlines(), *shown.splitlines()]:  # the controller's own word last: it says more
        record = _record(line)
        if record is not None:
            runs[record.id, record.submitted, record.started] = record
    return sorted(runs.values(), key=lambda record: (record.submitted, _number(record.id), record.started))


# Names and comments hold anything, so they end at the field that follows them in either list.
FIELD = {
    "name": r" (?:Job)?Name=(.*?) (?:UserId|JobState)=",
    "user": r" UserId=([^( ]*)",
    "state": r" JobState=(\S*)",
    "exit": r" ExitCode=(\d+:\d+)",
    "submitted": r" SubmitTime=(\S*)",
    "started": r" StartTime=(\S*)",
    "ended": r" EndTime=(\S*)",
    "node": r" NodeList=(\S*)",
    "restarts": r" Restarts=(\d+)",
    "comment": r" Comment=(.*?) +StdErr=",
    "array": r" ArrayJobId=(\d+)",
    "task": r" ArrayTaskId=(\S+)",
}


def _record(line: str) -> JobRecord | None:
    number = re.match(r"JobId=(\d+)", line)
    if number is None:
        return None
    values = {key: found[1] for key, pattern in FIELD.items() if (found := re.search(pattern, line))}
    code, _, signal = values.get("exit", "0:0").partition(":")
    state = values["state"]
    if "restarts" not in values and state == "PENDING":
        state = "REQUEUED"  # in the list of ended runs: this run was, the job is not
    task = values.get("task", "")
    return JobRecord(
        id=_id(number[1], values.get("array", ""), task),
        name=values["name"],
        user=values["user"],
        state=state,
        exit_code=int(code),
        signal=int(signal),
        submitted=values["submitted"],
        started=values["started"],
        ended=values["ended"],
        node=values.get("node", "").replace("(null)", ""),
        restarts=int(values.get("restarts", 0)),
        comment=values.get("comment", ""),
    )


def _id(number: str, array: str, task: str) -> str:
    if not array or not task:
        return number
    return f"{array}_{task}" if task.isdigit() else f"{array}_[{task}]"


def _number(text: str) -> tuple[int, int]:
    array, _, task = text.partition("_")
    return int(array), int(task) if task.isdigit() else -1
