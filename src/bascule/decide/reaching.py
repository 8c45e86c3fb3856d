"""
Whether what is asked is what the job went to: a target may be given another address.

Another address may be another cluster, where the job is unknown and its id a stranger's.
So what is not found there is no news, and nothing is asked to change there, until the job
was seen there under its key.
"""

from __future__ import annotations

from msgspec.structs import replace

from bascule.decide.plan import Plan, Seen
from bascule.model import Answer, CannotTell, Handle, Job, JobStatus, Phase, Report

LOOK_AGAIN = 60.0


def is_elsewhere(status: JobStatus, seen: Seen) -> bool:
    """Tell whether the target has another address than the attempt was submitted to."""
    return bool(status.address and seen.address) and status.address != seen.address


def as_from_where_it_is(job: Job, status: JobStatus, handle: Handle, seen: Seen) -> tuple[JobStatus, Answer | None]:
    """Return what the news are worth: of another address only what bears our key, and that is where the job is now."""
    news = seen.news
    if news is None or not is_elsewhere(status, seen):
        return status, news
    if isinstance(news, Report) and handle.key:
        return replace(status, address=seen.address), news
    return status, CannotTell(why_elsewhere(job))


def why_elsewhere(job: Job) -> str:
    """Say what is the matter."""
    return (
        f"target `{job.target_ref}` has another address than the job was submitted to, and does not know it there: "
        "its owner may set `url` back"
    )


def out_of_reach(job: Job, status: JobStatus) -> Plan:
    """Decide for a job that is not where the target leads to: all but letting it go must wait."""
    if is_let_go(job) and not is_unreleased(status):
        return Plan(status=status, remove=True)
    if status.phase is Phase.UNKNOWN and job.deleted_at is not None:
        status = replace(status, message=f"not cancelled yet: {why_elsewhere(job)}{job.way_out}")
    return Plan(status=status, look_again_in=LOOK_AGAIN)


def is_let_go(job: Job) -> bool:
    """Tell whether *job* was deleted and is to run on."""
    return job.deleted_at is not None and job.spec.on_delete == "Detach" and not job.spec.cancel


def is_unreleased(status: JobStatus) -> bool:
    """Tell whether the outside job still bears our own hold."""
    return status.released_at is None and status.intent is not None and status.intent.held
