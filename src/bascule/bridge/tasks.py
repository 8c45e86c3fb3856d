"""The tasks of an array, as people name them: which there are, and what is wrong with an index."""

from __future__ import annotations

from bascule.errors import Mistake
from bascule.model import Job, has_index, indices_of


def task_indices(job: Job) -> tuple[int, ...]:
    """Return the indices of *job*'s tasks; none where it is no array, or its manager has not told yet."""
    return indices_of(known) if (known := _known(job)) else ()


def check_index(job: Job, index: int | None) -> None:
    """Raise `Mistake` where *job* has no task *index*, or None is given for an array."""
    if not job.is_array:
        if index is not None:
            raise Mistake(f"job `{job.ref}` is no array, so it has no task {index}", hint="leave the index out")
        return
    known = _known(job)
    hint = f"its indices are `{known}`" if known else "give an index"
    if index is None:
        raise Mistake(f"job `{job.ref}` is an array, and each of its tasks has its own", hint=hint)
    if known and not has_index(known, index):
        raise Mistake(f"job `{job.ref}` has no task {index}", hint=hint)


def _known(job: Job) -> str:
    if job.spec.array is not None:
        return job.spec.array.indices
    tasks = job.status.tasks
    return tasks.indices if tasks is not None else ""
