"""
Looking for a key: it is a tag of the job, which nobody else has.

The service lists a job by its tags as soon as it has it, or shortly afterwards; how long that
may take is for the core to wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from bascule.managers.quantum.note import key_in, mark_of, note_of
from bascule.managers.quantum.service import Service
from bascule.managers.quantum.states import phase_of, report_of
from bascule.managers.quantum.together import together
from bascule.managers.quantum.wire import JobRecord, moment
from bascule.model import Absent, Found, Handle, Match, Phase, Stray, belongs_to
from bascule.ports import Clock

CLOCKS_DIFFER = timedelta(hours=24)
"""By how much the service's clock may be apart from ours; the tag alone decides what is ours."""


class Finder:
    """Looks for keys at one instance."""

    def __init__(self, service: Service, clock: Clock) -> None:
        self._service = service
        self._clock = clock

    async def find(self, key: str, since: datetime) -> Found | Absent:
        """Look for *key*; `Manager.find`."""
        as_of = self._clock.now()
        after = (since - CLOCKS_DIFFER).astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        listed = await self._service.jobs(tags=key, created_after=after)
        records = [record for record in listed if key in record.tags]
        if not records:
            return Absent(f"the service lists no job with the tag `{key}` since {after}", as_of)
        return Found(tuple(await together([self._match(record, key) for record in records])))

    async def sweep(self, installation: str) -> Sequence[Stray]:
        """List what bears our keys and is not over; `Manager.sweep`."""
        records = await self._service.jobs(tags=mark_of(installation), pending="true")
        strays = []
        for record in records:
            key = key_in(record)
            if belongs_to(key, installation):
                over = (phase := phase_of(record)) is not None and phase.is_final
                strays.append(Stray(key, handle_of(record, key), held=False, over=over))
        return strays

    async def _match(self, record: JobRecord, key: str) -> Match:
        asks = phase_of(record) not in (None, Phase.QUEUED)
        metrics = await self._service.metrics(record) if asks else None
        return Match(handle_of(record, key), report_of(record, metrics))


def handle_of(record: JobRecord, key: str) -> Handle:
    """Return the handle of a job that was found."""
    return Handle(record.id, key, submitted_at=moment(record.created), place=note_of(record).written())
