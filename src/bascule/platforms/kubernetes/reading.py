"""
Reading: one object as it is stored now, or all that fit, oldest first.

A list holds what is small; a job with a large script is read again when it is its turn,
so that a list of thousands fits into memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, TypeVar

from bascule.clients.kube import KubeClient, Rejected
from bascule.clients.kube.client import TooLarge
from bascule.errors import StoreFailed
from bascule.model import Ref, Target
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.following import age_of
from bascule.platforms.kubernetes.wire import PAGES, StoredJob, job_of, target_of
from bascule.ports import Selector

PAGE = 100
LARGE = 8 * 1024
"""Bytes from which on an object is not held while others are listed."""
K = TypeVar("K")
T = TypeVar("T")


class Reader:
    """Reads jobs and targets, of one namespace or of all."""

    def __init__(self, client: KubeClient, watched: str | None) -> None:
        self._client = client
        self._watched = watched
        self._targets: Shared[Ref, Target | None] = Shared(self._read_target)

    async def job(self, ref: Ref) -> StoredJob | None:
        """Return the job as it is stored now."""
        data = await self._found("bridgejobs", ref)
        return job_of(data) if data is not None else None

    async def target(self, ref: Ref) -> Target | None:
        """Return the target as it is stored now; many who ask at once share a request."""
        return await self._targets.get(ref)

    async def targets(self) -> AsyncIterator[Target]:
        """Iterate over all targets."""
        async for data in self._pages("bridgetargets", self._watched, {}):
            yield target_of(data)

    async def jobs(self, selector: Selector) -> AsyncIterator[StoredJob]:
        """Iterate over the selected jobs, oldest first."""
        found: list[tuple[float, str, str, StoredJob | Ref]] = []
        namespace = selector.namespace or self._watched
        async for data in self._pages("bridgejobs", namespace, _query(selector)):
            job = job_of(data)
            if fits(job, selector):
                is_large = len(bytes(data)) > LARGE
                found.append((age_of(job.created_at), job.namespace, job.name, job.ref if is_large else job))
        found.sort(key=lambda each: each[:3])
        left = selector.limit
        for *_, each in found:
            if left is not None and left <= 0:
                return
            job_now = each if isinstance(each, StoredJob) else await self.job(each)
            if job_now is not None:
                yield job_now
                left = None if left is None else left - 1

    async def _read_target(self, ref: Ref) -> Target | None:
        data = await self._found("bridgetargets", ref)
        return target_of(data) if data is not None else None

    async def _found(self, kind: names.Kind, ref: Ref) -> bytes | None:
        try:
            return await self._client.get(names.item(kind, ref))
        except Rejected as refusal:
            if refusal.code == 404:
                return None
            raise StoreFailed(refusal.message, hint=refusal.hint) from refusal

    async def _pages(self, kind: names.Kind, namespace: str | None, query: dict[str, str]) -> AsyncIterator[bytes]:
        path, more, size = names.collection(kind, namespace), "", PAGE
        while True:
            try:
                asked = {**query, "limit": str(size), **({"continue": more} if more else {})}
                page = PAGES.decode(await self._client.get(path, asked))
            except TooLarge:
                if size == 1:
                    raise
                size = max(1, size // 8)
                continue
            except Rejected as refusal:
                if refusal.code == 404:  # no such namespace, or the CRDs are not there
                    return
                raise StoreFailed(refusal.message, hint=refusal.hint) from refusal
            for each in page.items or ():
                yield bytes(each)
            more = page.more
            if not more:
                return


class Shared(Generic[K, T]):
    """Lets those who ask for the same thing at once share an answer, which is never older than their question."""

    def __init__(self, read: Callable[[K], Awaitable[T]]) -> None:
        self._read = read
        self._next: dict[K, list[asyncio.Future[T]]] = {}
        self._busy: set[K] = set()

    async def get(self, key: K) -> T:
        """Return what is there now."""
        if key not in self._busy:
            return await self._lead(key)
        # A request is under way, and may have been answered before this question: wait for the one after it.
        turn: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._next.setdefault(key, []).append(turn)
        try:
            return await turn
        except _YourTurn:
            return await self._lead(key)

    async def _lead(self, key: K) -> T:
        self._busy.add(key)
        waiting = self._next.pop(key, [])
        try:
            value = await self._read(key)
        except BaseException as error:
            for each in waiting:
                if not each.done():
                    each.set_exception(error if isinstance(error, Exception) else _YourTurn())
            raise
        else:
            for each in waiting:
                if not each.done():
                    each.set_result(value)
            return value
        finally:
            self._busy.discard(key)
            for first in self._next.get(key, []):
                if not first.done():
                    self._next[key].remove(first)
                    first.set_exception(_YourTurn())
                    break


class _YourTurn(Exception):
    """Whoever gets this asks the next question, for all that wait."""


def fits(job: StoredJob, selector: Selector) -> bool:
    """Tell whether *job* is one of those that *selector* means."""
    return (
        selector.namespace in {None, job.namespace}
        and (not selector.names or job.name in selector.names)
        and selector.labels.items() <= job.labels.items()
        and (not selector.phases or job.status.phase in selector.phases)
        and selector.target in {None, job.spec.target.name}
        and selector.live in {None, job.is_live}
    )


def _query(selector: Selector) -> dict[str, str]:
    """Return as much of *selector* as the API server can select by itself."""
    query: dict[str, str] = {}
    fields: list[str] = []
    if len(selector.names) == 1 and _is_plain(selector.names[0]):
        fields.append(f"metadata.name={selector.names[0]}")
    if selector.target is not None and _is_plain(selector.target):
        fields.append(f"spec.target.name={selector.target}")
    if fields:
        query["fieldSelector"] = ",".join(fields)
    if selector.labels and all(
        _is_plain(key.replace("/", "")) and _is_plain(value) for key, value in selector.labels.items()
    ):
        query["labelSelector"] = ",".join(f"{key}={value}" for key, value in selector.labels.items())
    return query


def _is_plain(text: str) -> bool:
    return text.isascii() and all(letter.isalnum() or letter in "-_." for letter in text)
