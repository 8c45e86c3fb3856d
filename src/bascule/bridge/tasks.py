"""The tasks of an array, as people name them: which there are, and what is wrong with an index."""

from __future__ import annotations

from bascule.errors import Mistake
from bascule.model import Job, has_index, indices_of


def task_indices(job: Job) -> tuple[int, ...]:
    """Return the indices of *job*'s tasks; none where it is no array, or was adopted and only its manager knows."""
    return indices_of(job.spec.array.indices) if job.spec.array is not None else ()


def check_index(job: Job, index: int | None) -> None:
    """Raise `Mistake` where *job* has no task *index*, or None is given for an array."""
    if not job.is_array:
        if index is not None:
            raise Mistake(f"job `{job.ref}` is no array, so it has no task {index}", hint="leave the index out")
        return
    known = f"its indices are `{job.spec.array.indices}`" if job.spec.array is not None else ""
    if index is None:
        raise Mistake(f"job `{job.ref}` is an array, and each of its tasks has its own", hint=known or "give an index")
    if job.spec.array is not None and not has_index(job.spec.array.indices, index):
        raise Mistake(f"job `{job.ref}` has no task {index}", hint=known)
