"""
Following jobs and targets: two reflectors, and whoever wants to be told of changes.

Of each job only its version is kept, and by which keys its attempts can be known; what
it says is read when it is looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Literal

from bascule.clients.kube import KubeClient, Meta, Reflector
from bascule.clients.kube.meta import Key
from bascule.model import Ref, key_for
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.settings import Settings
from bascule.ports import Change, Clock


class Following:
    """What is known of all objects, from the moment it runs."""

    def __init__(self, client: KubeClient, settings: Settings, clock: Clock) -> None:
        def reflector(kind: names.Kind, told: Callable[[Key, Meta | None], None], only: Ref | None) -> Reflector:
            # Targets may lie elsewhere than the jobs that use them; where only one namespace may be watched, they do not.
            path = names.collection(kind, only.namespace if only else settings.watched)
            query = {"fieldSelector": f"metadata.name={only.name}"} if only else {}
            return Reflector(client, path, told, sleep=clock.sleep, idle=settings.idle, query=query)

        self.jobs = reflector("bridgejobs", self._job_told, settings.only)
        self.targets = reflector("bridgetargets", self._target_told, settings.only_target)
        self._stems: dict[str, Key] = {}
        self._stem_of: dict[Key, str] = {}
        self._watchers: set[_Watcher] = set()
        self._gone: list[Callable[[Ref], None]] = []

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.jobs.run(), name="follow jobs")
            tasks.create_task(self.targets.run(), name="follow targets")

    async def synced(self) -> None:
        """Wait until everything was listed once."""
        await self.jobs.synced.wait()
        await self.targets.synced.wait()

    def when_gone(self, forget: Callable[[Ref], None]) -> None:
        """Let *forget* be called with each job that is gone."""
        self._gone.append(forget)

    def watch(self) -> AsyncIterator[Change]:
        """Tell what changed from now on."""
        # Registered now, not when the first change is asked for.
        watcher = _Watcher()
        self._watchers.add(watcher)
        return self._changes(watcher)

    def note(self, ref: Ref, uid: str) -> None:
        """Take note of a job that we read, before the watch tells of it."""
        key, stem = Key(*ref), stem_of(ref.name, uid)
        if self._stem_of.get(key) != stem:
            self._stems.pop(self._stem_of.get(key, ""), None)
            self._stems[stem] = key
            self._stem_of[key] = stem

    def job_with(self, stem: str) -> Ref | None:
        """Return the job whose keys begin with *stem*."""
        found = self._stems.get(stem)
        return Ref(*found) if found is not None else None

    async def _changes(self, watcher: _Watcher) -> AsyncIterator[Change]:
        try:
            while True:
                yield await watcher.next()
        finally:
            self._watchers.discard(watcher)

    def _job_told(self, key: Key, meta: Meta | None) -> None:
        ref = Ref(*key)
        if meta is not None:
            self.note(ref, meta.uid)
        else:
            self._stems.pop(self._stem_of.pop(key, ""), None)
            for forget in self._gone:
                forget(ref)
        self._tell("job", ref)

    def _target_told(self, key: Key, meta: Meta | None) -> None:
        self._tell("target", Ref(*key))

    def _tell(self, kind: Literal["job", "target"], ref: Ref) -> None:
        for watcher in self._watchers:
            watcher.tell(Change(kind, ref))


class _Watcher:
    """What one who watches has not yet been told: each object once, however often it moved."""

    def __init__(self) -> None:
        self._news: dict[Change, None] = {}
        self._moved = asyncio.Event()

    def tell(self, change: Change) -> None:
        self._news[change] = None
        self._moved.set()

    async def next(self) -> Change:
        while not self._news:
            self._moved.clear()
            await self._moved.wait()
        change = next(iter(self._news))
        del self._news[change]
        return change


def stem_of(name: str, uid: str) -> str:
    """Return what the keys of all attempts of a job have in common, whatever the installation."""
    name_part, _, uid_part, _ = key_for(name, installation="x", uid=uid, attempt=1).rsplit("-", 3)
    return f"{name_part}-{uid_part}"


def age_of(created: datetime | None) -> float:
    """Return what to sort by, so that the oldest comes first."""
    return created.timestamp() if created is not None else 0.0
