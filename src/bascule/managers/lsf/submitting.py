"""
Submitting a job: once, held where that is asked, with its files.

All goes in one request, which either arrives whole or makes no job. Only inputs that are
too large for that follow in parts, while the job is still held; one that they do not reach
is taken back, and its wrapper would not start without them.
"""

from __future__ import annotations

from collections.abc import Sequence

from bascule.errors import Error, Refused, Unavailable, Uncertain
from bascule.managers.lsf.center import Center
from bascule.managers.lsf.changing import Changer
from bascule.managers.lsf.description import wanted_by
from bascule.managers.lsf.multipart import Attachment
from bascule.managers.lsf.options import TargetOptions
from bascule.model import Handle, Job
from bascule.ports import Order

TOGETHER = 8 << 20
"""Bytes of inputs that go along with a submit."""
PART = 4 << 20


class Submitter:
    """Submits jobs to one Application Center, as one user."""

    def __init__(self, center: Center, changer: Changer, options: TargetOptions) -> None:
        self._center = center
        self._changer = changer
        self._options = options

    def check(self, job: Job) -> None:
        """Raise `Mistake` where LSF cannot take *job*; one that is adopted is there already."""
        if job.spec.adopt is None:
            wanted_by(job, self._options, key="key")

    async def submit(self, order: Order) -> Handle:
        """Submit once, held where the order says so."""
        wanted = wanted_by(order.job, self._options, key=order.key)
        for secret in order.secret_env.values():
            self._center.hide(secret)
        together, later = _split(wanted.inputs, in_parts=order.held and not self._center.known_old)
        number = await self._center.submit(
            wanted.form,
            wanted.form_parameters(order.key, held=order.held),
            [wanted.wrapper(order.secret_env), *together],
            what=f"job `{order.job.name}`",
        )
        handle = Handle(number, order.key, place=wanted.note.written())
        for file in later:
            await self._bring(handle, file)
        self._changer.note_submitted(handle)
        return handle

    async def _bring(self, handle: Handle, file: Attachment) -> None:
        parts = [file.data[start : start + PART] for start in range(0, len(file.data), PART)]
        try:
            for number, data in enumerate(parts, start=1):
                piece = Attachment(f".{file.name}.{number}", data)
                await self._center.upload(handle.id, piece, part=number, parts=len(parts), name=file.name)
        except Error as trouble:
            await self._take_back(handle, trouble)

    async def _take_back(self, handle: Handle, trouble: Error) -> None:
        """End the held job whose inputs did not come; raise what that means for its submit."""
        try:
            await self._changer.cancel(handle)
        except Error:
            raise Uncertain(f"job `{handle.id}` is held and has not all its inputs: {trouble.message}") from trouble
        if isinstance(trouble, Refused):
            raise trouble
        raise Unavailable(
            f"the inputs did not all arrive, so job `{handle.id}` was taken back: {trouble.message}"
        ) from trouble


def _split(files: Sequence[Attachment], *, in_parts: bool) -> tuple[list[Attachment], list[Attachment]]:
    """Return the files that go along, and those that follow."""
    room = TOGETHER
    together: list[Attachment] = []
    later: list[Attachment] = []
    for file in files:
        room -= len(file.data)
        (later if in_parts and room < 0 else together).append(file)
    return together, later
