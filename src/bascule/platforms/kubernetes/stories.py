"""
What happened to a job, as Events: what `kubectl describe` shows.

The Event's name follows from the job and its place in the story, so that none is told
twice; the same again is one Event with a count. The API server forgets Events after an
hour unless it is told otherwise.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from bascule.clients.kube import KubeClient, Rejected
from bascule.clients.kube.client import MERGE
from bascule.errors import Error
from bascule.journal import Logger
from bascule.model import Event, Job
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.settings import Settings
from bascule.platforms.kubernetes.wire import StoredJob, Story

MOST = 200
LONGEST_NOTE = 1024
LONGEST_REASON = 128
CONTROLLER = f"{names.GROUP}/operator"
AT_ONCE = 16
log = Logger(__name__)


class Told(NamedTuple):
    """One Event to write: its place in the story, what it says, and how often it came."""

    place: int
    event: Event
    times: int


class _Series(msgspec.Struct, rename="camel"):
    count: int
    last_observed_time: datetime


class _Event(msgspec.Struct, rename="camel"):
    metadata: Any
    event_time: datetime | None = None
    reason: str = ""
    note: str = ""
    type: Literal["Normal", "Warning"] = "Normal"
    series: _Series | None = None


class _Events(msgspec.Struct):
    items: list[_Event] | None = None


def told_on(story: Story, events: Sequence[Event]) -> tuple[Story, list[Told]]:
    """Return how *story* goes on with *events*, and what is to be written."""
    written: dict[int, Told] = {}
    for event in events:
        mark = _mark(event)
        if story.count and story.last == mark:
            story = replace(story, times=story.times + 1)
        else:
            story = Story(story.count + 1, mark, 1)
        written[story.count] = Told(story.count, event, story.times)
    return story, list(written.values())[-MOST:]


class Stories:
    """Writes and reads Events; where that fails, the story has a gap and nothing else is hurt."""

    def __init__(self, client: KubeClient, settings: Settings) -> None:
        self._client = client
        self._settings = settings

    async def tell(self, job: StoredJob, told: Sequence[Told]) -> None:
        """Write *told* of *job*, and drop what is too old."""
        places = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            for each in told:
                tasks.create_task(self._write(job, each, places), name="event")

    async def tell_beside(self, job: StoredJob, events: Sequence[Event]) -> None:
        """Write *events* that are not the driver's, under names of their own."""
        for event in events:
            await self._create(job, Told(0, event, 1), name=f"{_name(job, 0)}.{_mark(event)}")

    async def of(self, job: Job) -> list[Event]:
        """Return what happened to *job*, oldest first."""
        query = {"fieldSelector": f"regarding.uid={job.uid}", "limit": "500"}
        data = await self._client.get(names.events(job.namespace), query)
        found = [each for each in msgspec.json.decode(data, type=_Events).items or () if each.event_time is not None]
        found.sort(key=lambda each: each.metadata.get("name", ""))
        return [_event_of(each) for each in found]

    async def _write(self, job: StoredJob, told: Told, places: asyncio.Semaphore) -> None:
        async with places:
            try:
                if told.times > 1 and await self._count(job, told):
                    return
                await self._create(job, told)
                if told.place > MOST:
                    await self._drop(job, told.place - MOST)
            except Error as trouble:
                log.warning("event.not_written", reason=told.event.reason, error=trouble.message)

    async def _create(self, job: StoredJob, told: Told, name: str = "") -> None:
        event = told.event
        document: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name or _name(job, told.place), "namespace": job.namespace},
            "regarding": {
                "apiVersion": names.API_VERSION,
                "kind": "BridgeJob",
                "namespace": job.namespace,
                "name": job.name,
                "uid": job.uid,
                "resourceVersion": job.version,
            },
            "eventTime": _micro(event.at),
            "reason": event.reason[:LONGEST_REASON] or "Happened",
            "action": event.reason[:LONGEST_REASON] or "Happened",
            "note": _shortened(event.message),
            "type": event.type,
            "reportingController": CONTROLLER,
            "reportingInstance": self._settings.identity[:128],
        }
        if told.times > 1:
            document["series"] = _series(told)
        try:
            await self._client.post(names.events(job.namespace), document)
        except Rejected as refusal:
            if refusal.reason != "AlreadyExists":
                raise

    async def _count(self, job: StoredJob, told: Told) -> bool:
        try:
            path = names.events(job.namespace, _name(job, told.place))
            await self._client.patch(path, {"series": _series(told)}, kind=MERGE)
        except Rejected as refusal:
            if refusal.code == 404:  # forgotten meanwhile
                return False
            raise
        return True

    async def _drop(self, job: StoredJob, place: int) -> None:
        try:
            await self._client.delete(names.events(job.namespace, _name(job, place)))
        except Rejected as refusal:
            if refusal.code != 404:
                raise


def _series(told: Told) -> dict[str, Any]:
    return {"count": told.times, "lastObservedTime": _micro(told.event.at)}


def _name(job: Job, place: int) -> str:
    """Return the Event's name; in the order of names is the order of the story."""
    return f"{job.name[:200].rstrip('.-')}.{job.uid[:8]}.{place:07d}"


def _mark(event: Event) -> str:
    return hashlib.sha256(f"{event.type}\0{event.reason}\0{event.message}".encode()).hexdigest()[:12]


def _shortened(text: str) -> str:
    """Return as much of *text* as an Event takes, which counts bytes."""
    data = text.encode()
    return text if len(data) <= LONGEST_NOTE else f"{data[: LONGEST_NOTE - 3].decode(errors='ignore')}..."


def _event_of(found: _Event) -> Event:
    at = found.event_time
    assert at is not None  # noqa: S101 - those without were left out
    series = found.series
    return Event(
        at=series.last_observed_time if series else at,
        reason=found.reason,
        message=found.note,
        type=found.type,
        count=series.count if series else 1,
    )


def _micro(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S.%f}Z"
