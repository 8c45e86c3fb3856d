"""
What must hold after every simulation, whatever happened in it.

The rules read the outside's own ledger, which the code under test never sees, and compare
it with what was saved. What no code could promise is excused here, each with its reason;
`docs/reliability.md` says the same to users.
"""

from __future__ import annotations

from collections.abc import Iterator

from bascule.model import Job, Phase, Reason, parts_of
from tests.fakes.ledger import Entry
from tests.simulation.record import Record, Saved

LATE = 0.001
"""Seconds by which two moments may differ that are the same."""
SLACK = 420.0
"""Seconds in which a stop must have come through once nothing is in its way: the longest pause between two asks."""
ENDS = {Reason.EXIT_CODE: "FAILED", Reason.NODE_FAILED: "NODE_FAIL", Reason.PREEMPTED: "PREEMPTED"}
"""What the manager calls the ends of which a reason tells."""


def verdicts(record: Record) -> list[str]:
    """Return what is wrong with *record*; empty where all is well."""
    rules = (
        *(_starts_once, _ends, _stops, _lets_go, _tells_the_truth, _holds, _keeps_order, _keeps_limits),
        *(_leaves_nothing, _is_polite),
    )
    return [*record.wrong, *(wrong for rule in rules for wrong in rule(record))]


def _starts_once(record: Record) -> Iterator[str]:
    """At most one job of an attempt ever starts, and no two attempts of a job run at once."""
    started: dict[tuple[str, int], set[tuple[str, str, float]]] = {}
    for entry in record.ledger:
        parts = parts_of(entry.key)
        if entry.what == "start" and parts is not None:
            started.setdefault((parts.name, parts.attempt), set()).add((entry.key, entry.id, entry.at))
    for (name, attempt), jobs in started.items():
        if len(jobs) > 1 and not any(_may_run_again(record, key) for key, _, _ in jobs):
            yield f"attempt {attempt} of {name} started as {sorted(jobs, key=lambda job: job[2])}"
    for one, other in record.ledger.overlaps():
        if not _may_run_again(record, one) and not _may_run_again(record, other):
            yield f"{one} and {other} ran at the same time"


def _ends(record: Record) -> Iterator[str]:
    """Every job comes to its end, and every cancellation and deletion too."""
    for name, job in record.jobs.items():
        waits_for = [record.jobs[after.job] for after in job.spec.after if after.job in record.jobs]
        if job.status.reason == Reason.TARGET_FULL:
            waits_for = list(record.jobs.values())
        excused = any(_release_was_undone(record, one) for one in (job, *waits_for))
        if not job.status.phase.is_final and not excused:
            yield f"{name} is still {job.status.phase} ({job.status.reason}: {job.status.message})"
        elif job.deleted_at is not None:
            yield f"{name} was deleted and is still there"
        retries = job.spec.retry.limit + record.story.asked("suspend", name)
        if job.status.attempt > 1 + retries and not record.restored:
            yield f"{name} took {job.status.attempt} attempts"


def _stops(record: Record) -> Iterator[str]:
    """What is said to be over, or removed, is over outside: no job of its key starts or runs on."""
    seen = set()
    for saved in record.saves:
        job, key = saved.job, saved.job.status.key
        if key in seen or not key or not (saved.removed or job.status.phase.is_final):
            continue
        if (saved.removed and _is_detached(saved)) or job.status.reason == Reason.LOST:
            continue
        if any(saved.at < at for at in record.restored):
            continue  # what the copy does not know is found out again
        seen.add(key)
        what = "removed" if saved.removed else job.status.phase
        for id_, running_at in _runs_on(record.ledger.of(key), saved.at):
            if not _cannot_be_fenced(record, key):
                yield f"{key} was {what} at {saved.at:.1f}, and {id_} ran on or started at {running_at:.1f}"
    for name, job in record.jobs.items():
        limits = [job.spec.deadlines.running]
        if not record.story.abilities.walltime:
            limits.append(job.spec.resources.walltime)
        limit = min((one.total_seconds() for one in limits if one is not None), default=None)
        if limit is None or record.restored:
            continue
        for began, ended in _spans(record, name):
            if ended > max(began, record.story.ends_at) + limit + SLACK:
                yield f"{name} ran from {began:.0f} to {ended:.0f}, and its limit is {limit:.0f}"


def _lets_go(record: Record) -> Iterator[str]:
    """A job that was deleted to run on runs on."""
    for saved in record.saves:
        job, status = saved.job, saved.job.status
        if not saved.removed or not _is_detached(saved) or job.deleted_at is None:
            continue
        stops = job.spec.deadlines.queued, job.spec.deadlines.running, job.spec.resources.walltime
        if any(stops) or record.story.asked("suspend", job.name) or record.story.asked("cancel", job.name):
            continue
        if any(entry.id == status.id for entry in record.ledger.of(status.key, "cancel")):
            yield f"{job.name} was deleted to run on, and was cancelled"


def _tells_the_truth(record: Record) -> Iterator[str]:
    """What is on record is what happened."""
    gone = {saved.job.name: saved.job for saved in record.saves if saved.removed}
    for name, job in {**gone, **record.jobs}.items():
        status = job.status
        ends = [one for one in record.ledger.of(status.key, "end") if one.id == status.id] if status.key else []
        happened = ends[-1].note if ends else ""
        if status.phase is Phase.SUCCEEDED and happened != "COMPLETED":
            yield f"{name} is Succeeded, and its job ended as `{happened}`"
        claimed = ENDS.get(status.reason, "") if status.phase is Phase.FAILED else ""
        if claimed and claimed != happened:
            yield f"{name} is Failed ({status.reason}), and its job ended as `{happened}`"
        may_be_lost = _may_be_lost(record, job)
        if status.phase is Phase.FAILED and happened == "COMPLETED" and not may_be_lost:
            yield f"{name} is Failed ({status.reason}), and its job succeeded"
        if status.phase is Phase.CANCELLED and not job.spec.cancel and job.deleted_at is None and not record.restored:
            yield f"{name} is Cancelled, and nobody asked for it"
        if status.phase is Phase.FAILED and status.reason == Reason.LOST and not may_be_lost:
            yield f"{name} is Lost, and the manager never forgot it: {status.message}"


def _holds(record: Record) -> Iterator[str]:
    """Our release comes once, the user's as often as the user asked, and none starts what the user holds."""
    for key in sorted({entry.key for entry in record.ledger}):
        parts = parts_of(key)
        released = record.ledger.of(key, "release")
        if parts is None:
            if record.ledger.of(key, "release", "cancel", "signal"):
                yield f"the job of a stranger was touched: {key}"
            continue
        asked = record.story.asked("hold", parts.name)
        # A restart may have undone a release, and a new driver cannot know whether the last one's arrived.
        excuse = record.instances - 1 + record.drivers - 1 + len(record.restored)
        for id_ in {entry.id for entry in released}:
            if sum(entry.id == id_ for entry in released) > 1 + asked + excuse:
                yield f"{key} was released {len(released)} times as {id_}"
        if len(record.ledger.of(key, "signal")) > 2:
            yield f"{key} was warned over and over"
    for name, since, until in _user_holds(record):
        for entry in record.ledger:
            if entry.what != "start" or _name_in(entry.key) != name or not since + LATE < entry.at < until - LATE:
                continue
            if record.story.storm == 0.0:  # else a release from before may have been that long on its way
                yield f"{name} was held by its user from {since:.1f} to {until:.1f}, and started at {entry.at:.1f}"


def _keeps_order(record: Record) -> Iterator[str]:
    """A job starts after its predecessor has ended as it was asked to."""
    for _, job in record.story.jobs:
        for after in job.spec.after:
            wanted = {"Succeeded": "COMPLETED"}.get(after.when, "")
            over = {"end", "killed", "forgotten"}
            ends = [one for one in record.ledger if one.what in over and _name_in(one.key) == after.job]
            for entry in record.ledger:
                if entry.what != "start" or _name_in(entry.key) != job.name:
                    continue
                before = [one for one in ends if one.at <= entry.at and wanted in one.note]
                if not before and not _ended_unseen(record, after.job):
                    yield f"{job.name} started at {entry.at:.1f}, before {after.job} had ended ({after.when})"


def _keeps_limits(record: Record) -> Iterator[str]:
    """No more jobs are active than the target's owner allows."""
    limit = record.story.active_jobs
    if limit is None or record.restored:
        return
    running: set[tuple[str, str]] = set()
    for entry in record.ledger:
        if parts_of(entry.key) is None or _name_in(entry.key) in _let_go(record):
            continue
        if entry.what in {"start", "restart"}:
            running.add((entry.key, entry.id))
            if len(running) > limit and not any(_cannot_be_fenced(record, key) for key, _ in running):
                yield f"{len(running)} jobs ran at {entry.at:.1f}, and {limit} may: {sorted(running)}"
        elif entry.what in {"end", "killed", "forgotten"}:
            running.discard((entry.key, entry.id))


def _leaves_nothing(record: Record) -> Iterator[str]:
    """No job of ours runs, waits or is held after everything is over."""
    specs = {job.name: job.spec for _, job in record.story.jobs}
    for job in record.left:
        name = _name_in(job.key)
        if parts_of(job.key) is None or job.ended is not None:
            continue
        # Not as it was saved: who saved it may have died before it could say so.
        is_gone = name not in record.jobs
        if is_gone and (job.held or (specs[name].on_delete == "Detach" and record.story.asked("delete", name))):
            continue  # let go as asked; or nobody can tell any more whose it was, and it never runs
        if record.restored and not is_gone and _attempt_in(job.key) > record.jobs[name].status.attempt:
            continue  # of an attempt that the copy does not know: it is nobody's
        if _cannot_be_fenced(record, job.key) and is_gone:
            continue  # it arrived after the end of its object
        if job.held and not is_gone and _release_was_undone(record, record.jobs[name]):
            continue
        yield f"{job.key} is still there as {job.id}: {job.state}{' (held)' if job.held else ''}"


def _is_polite(record: Record) -> Iterator[str]:
    """Watching costs a request per interval, not per job and not per trouble."""
    story, asked = record.story, record.requests
    jobs = sum(job.status.attempt for job in record.jobs.values()) + len(story.jobs)
    # One that was replaced without its knowing goes on asking until it has something to save.
    minutes = record.seconds / 60 * (1 + sum(deed.what in {"freeze", "usurp"} for deed in story.deeds))
    budgets = {
        "observe": 10 * minutes + 15 * jobs + 10 * record.drivers,
        "probe": 1.5 * minutes + 10 * record.drivers + 10,
        "sweep": 1.2 * minutes + 2 * record.drivers,
        "submit": 3 * jobs + 2 * record.drivers + 8 * story.storm_until / 60,
        "find": 10 * jobs + 6 * record.drivers + 12 * story.ends_at / 60 + 65 * story.has("wander"),
    }
    for call, most in budgets.items():
        if asked.get(call, 0) > most:
            yield f"{asked[call]} requests `{call}` in {record.seconds:.0f} s for {jobs} attempts: more than {most:.0f}"


# What the rules ask of the record.


def _runs_on(entries: list[Entry], since: float) -> Iterator[tuple[str, float]]:
    """Give each job of *entries* that runs at *since* or later, and when."""
    running: dict[str, float] = {}
    for entry in entries:
        if entry.what in {"start", "restart"}:
            running[entry.id] = entry.at
            if entry.at > since + LATE:
                yield entry.id, entry.at
        elif entry.what in {"end", "killed"} and running.pop(entry.id, since + 1) <= since < entry.at - LATE:
            yield entry.id, entry.at


def _spans(record: Record, name: str) -> Iterator[tuple[float, float]]:
    """Give from when to when each outside job of *name* ran."""
    began: dict[tuple[str, str], float] = {}
    for entry in record.ledger:
        if _name_in(entry.key) != name:
            continue
        if entry.what in {"start", "restart"}:
            began[entry.key, entry.id] = entry.at
        elif entry.what in {"end", "killed"} and (entry.key, entry.id) in began:
            yield began.pop((entry.key, entry.id)), entry.at
    for at in began.values():
        yield at, record.seconds


def _user_holds(record: Record) -> Iterator[tuple[str, float, float]]:
    """Give each span in which a user's hold was on record while the job waited."""
    for _, job in record.story.jobs:
        since: float | None = None
        for saved in record.of(job.name):
            waits = saved.job.status.phase in (Phase.QUEUED, Phase.HELD, Phase.SUBMITTING)
            wanted = saved.job.spec.hold and saved.job.status.holding
            if since is None and wanted and saved.job.status.phase is Phase.HELD:
                since = saved.at
            elif since is not None and not (wanted and waits):
                yield job.name, since, saved.at
                since = None


def _release_was_undone(record: Record, job: Job) -> bool:
    """Tell whether a restart undid a release, or a restore the record of a hold: such a hold is taken for its user's."""
    released = record.ledger.of(job.status.key, "release")
    # A hold may be long on its way, too, and arrive after it was lifted.
    late = record.story.storm > 0.0 and record.story.asked("hold", job.name)
    undone = record.story.has("restart") or record.restored or late
    return job.status.phase is Phase.HELD and bool(undone and released)


def _is_detached(saved: Saved) -> bool:
    return saved.job.spec.on_delete == "Detach" and not saved.job.spec.cancel


def _let_go(record: Record) -> set[str]:
    """Return the jobs that ran on, as asked, after their objects were removed, or were given up as Unknown."""
    given_up = {saved.job.name for saved in record.saves if saved.job.status.reason == Reason.LOST}
    return given_up | {saved.job.name for saved in record.saves if saved.removed and _is_detached(saved)}


def _may_be_lost(record: Record, job: Job) -> bool:
    """Tell whether *job* may be called lost: the manager has forgotten it, or cannot tell."""
    story, key = record.story, job.status.key
    if story.abilities.volatile and record.instances > 1:
        return True  # started anew: what it ran before cannot be told from what it never got
    if not story.abilities.history and story.purge_after is not None and "cannot tell" in job.status.message:
        return True  # what is not in the live view may have been purged: it was Unknown as long as its owner allows
    if story.has("wander") and "cannot tell" in job.status.message:
        return True  # a clock that jumps brings a deadline near
    if not story.abilities.history and record.ledger.of(key, "purge"):
        return True
    return any(entry.note != "requeued" for entry in record.ledger.of(key, "forgotten", "killed"))


def _ended_unseen(record: Record, name: str) -> bool:
    """Tell whether the job ended without an outside job that ended: before its submit, or lost."""
    ends = [saved.job.status for saved in record.of(name) if saved.job.status.phase.is_final]
    return any(status.id is None or status.reason == Reason.LOST for status in ends)


def _cannot_be_fenced(record: Record, key: str) -> bool:
    """
    Excuse what follows a submit that arrives after the end of its attempt, where the client chooses the id.

    Such a submit is harmless as long as the manager remembers the first. It is not where there was none,
    and absence was proven before it came; nor where the manager was started anew; nor where it was asked to forget.
    """
    if record.story.abilities.key != "chosen":
        return False
    if record.restored and record.story.has("restart", "delete"):
        return True  # what the copy does not know, and the manager has forgotten, nobody knows
    over = [saved.at for saved in record.saves if saved.job.status.key == key and _is_over(saved)]
    over += [saved.at for saved in record.saves if any(old.key == key for old in saved.job.status.attempts)]
    return any(entry.at > min(over) for entry in record.ledger.of(key, "submit")) if over else False


def _may_run_again(record: Record, key: str) -> bool:
    """Tell whether nobody can know of a job of *key*: fences fail, or its manager and the copy have forgotten it."""
    forgotten = record.ledger.of(key, "forgotten", "killed")
    again = [entry.at for entry in record.ledger.of(key, "start") if any(at < entry.at for at in record.restored)]
    unknown = bool(again) and any(entry.note != "requeued" for entry in forgotten)
    return unknown or _cannot_be_fenced(record, key)


def _is_over(saved: Saved) -> bool:
    return saved.removed or saved.job.status.phase.is_final


def _name_in(key: str) -> str:
    parts = parts_of(key)
    return parts.name if parts else key


def _attempt_in(key: str) -> int:
    parts = parts_of(key)
    return parts.attempt if parts else 0
