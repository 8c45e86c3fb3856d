"""What may be stored, and changed, and how: the rules that a platform without a schema server needs."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from bascule.errors import Conflict, Mistake
from bascule.model import SUBMITTER, Job, JobSpec, Ref, Target, work_of
from bascule.ports import Front, Manager, Neighbour

Verb = Literal["created", "changed", "unchanged"]


async def target_of(front: Front, job: Job) -> Target:
    """Return the target that *job* names; raise `Mistake` naming those that exist."""
    target = await front.target(job.target_ref)
    if target is not None:
        return target
    known = [other.name async for other in front.targets()]
    near = difflib.get_close_matches(job.spec.target.name, known, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(sorted(known)) or 'none'}"
    raise Mistake(f"job `{job.name}`: there is no target `{job.target_ref}`", hint=hint)


def submitted_from_here(job: Job, manager: Manager) -> Job:
    """Return *job* with the caller's surroundings, where it will run on this machine: whoever drives has others."""
    if job.spec.adopt is not None or not isinstance(manager, Neighbour):
        return job
    return replace(job, annotations=job.annotations | {SUBMITTER: manager.keep_submitter()})


def placed_here(job: Job) -> Job:
    """Return *job* with the caller's folder as its own, where it names none: it runs on this machine."""
    try:
        here = str(Path.cwd())
    except FileNotFoundError as error:
        raise Mistake("the current folder does not exist any more", hint="change into another one") from error
    return replace(job, spec=replace(job.spec, working_directory=here))


async def refuse_circle(front: Front, job: Job) -> None:
    """Raise `Mistake` where *job* would wait for itself by way of others."""
    ways = [[job.name, after.job] for after in job.spec.after]
    known: set[str] = set()
    while ways:
        way = ways.pop()
        if way[-1] == job.name:
            raise Mistake(
                f"job `{job.name}` would wait for itself: {' after '.join(f'`{name}`' for name in way)}",
                hint="take one of these out of `after`",
            )
        if way[-1] in known:
            continue
        known.add(way[-1])
        other = await front.get(Ref(job.namespace, way[-1]))
        if other is not None and not other.status.phase.is_final:
            ways += [[*way, after.job] for after in other.spec.after]


def differing_fields(one: JobSpec, other: JobSpec) -> list[str]:
    """Return the JSON names of the fields in which the *work* of two specs differs."""
    before, after = work_of(one), work_of(other)
    names = zip(JobSpec.__struct_fields__, JobSpec.__struct_encode_fields__, strict=True)
    return [shown for field, shown in names if getattr(before, field) != getattr(after, field)]


def check_change(old: Job, wanted: JobSpec, manager: Manager | None) -> None:
    """Raise `Mistake` where *wanted* changes what is frozen since the first intent."""
    if old.status.attempt == 0:
        return
    frozen = differing_fields(old.spec, wanted)
    if frozen:
        raise Mistake(
            f"job `{old.name}` was submitted already: {', '.join(f'`{name}`' for name in frozen)} cannot change",
            hint="give the new work another name, or delete the job first",
        )
    moved = old.spec.resources.walltime != wanted.resources.walltime
    if moved and manager is not None and not manager.abilities.update_walltime:
        raise Mistake(
            f"job `{old.name}`: this manager cannot change a walltime", hint="leave `resources.walltime` as it was"
        )
    if moved and wanted.resources.walltime is None:
        raise Mistake(f"job `{old.name}`: a walltime cannot be taken away", hint="set a longer `resources.walltime`")


async def change(front: Front, ref: Ref, **fields: object) -> Job | None:
    """Set *fields* of a job's spec, whoever else writes; None where there is no such job."""
    while True:
        job = await front.get(ref)
        if job is None:
            return None
        spec = replace(job.spec, **fields)
        if spec == job.spec:
            return job
        try:
            return await front.change(replace(job, spec=spec))
        except Conflict:
            continue
