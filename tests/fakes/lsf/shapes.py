"""
How Application Center writes its answers: as XML, and as JSON in which one of a list is the one itself.

Names of fields are those of IBM's pages; the shape of the history is a guess, which the
manager's page lists as such.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape

from tests.fakes.lsf.cluster import HOST, FakeJob

LONG = {"PEND": "Pending", "PSUSP": "Suspended", "USUSP": "Suspended", "RUN": "Running", "DONE": "Done", "EXIT": "Exit"}


def moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}" if seconds else ""


def java_moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%a %b %d %H:%M:%S UTC %Y}" if seconds else "-"


def basic(job: FakeJob) -> dict[str, Any]:
    return {
        "jobId": job.own_id,
        "jobName": job.own_name,
        "jobStatus": job.odd or job.word,
        "jobType": "Array" if job.index else "Job",
        "queue": job.queue,
        "user": job.user,
    }


def full(job: FakeJob, *, wait_status: bool) -> dict[str, Any]:
    return {
        "command": job.command,
        "exHosts": HOST if job.started else "-",
        "fromHost": HOST,
        "jobId": job.own_id,
        "jobName": job.own_name,
        "jobStatus": job.odd or job.word,
        "queue": job.queue,
        "submitTimeGMT": moment(job.submitted),
        "user": job.user,
        "application": "",
        "cpuTime": "0.1",
        "cwd": str(job.folder),
        "description": job.description,
        "execCwd": str(job.folder) if job.started else "",
        "execUserName": job.user,
        "exitStatus": str(job.status if wait_status else job.exit_status) if job.is_over else "",
        "outfile": job.outfile,
        "pendReason": job.pending if job.word in {"PEND", "PSUSP"} else "",
        "startTime": java_moment(job.started),
        "endTime": java_moment(job.ended),
    }


def old(job: FakeJob) -> dict[str, Any]:
    return {
        "name": job.own_name,
        "id": job.own_id,
        "status": job.odd or LONG[job.word],
        "cmd": job.command,
    }


def history(job: FakeJob) -> dict[str, Any]:
    events = [{"eventTime": moment(at), "eventText": text} for at, text in job.events]
    return {
        "jobSummary": {"id": job.own_id, "jobName": job.own_name, "user": job.user, "command": job.command},
        "jobEvent": events[0] if len(events) == 1 else events,
    }


def as_json(name: str, members: list[dict[str, Any]]) -> dict[str, Any]:
    """A list: its total as an attribute, one member as itself."""
    return {"@total": str(len(members)), name: members[0] if len(members) == 1 else members}


def as_xml(root: str, name: str, members: list[dict[str, Any]]) -> str:
    inside = "".join(f"<{name}>{_fields(member)}</{name}>" for member in members)
    return f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><{root} total="{len(members)}">{inside}</{root}>'


def _fields(member: dict[str, Any]) -> str:
    parts = []
    for name, value in member.items():
        for each in value if isinstance(value, list) else [value]:
            inside = _fields(each) if isinstance(each, dict) else escape(str(each))
            parts.append(f"<{name}>{inside}</{name}>")
    return "".join(parts)
