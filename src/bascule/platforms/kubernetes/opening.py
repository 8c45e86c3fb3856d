"""The way in: open the cluster's jobs and targets for one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from bascule.clients.kube import Access, KubeClient, Rejected
from bascule.errors import Mistake
from bascule.model import Job, Ref, installation_from
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.reading import Reader
from bascule.platforms.kubernetes.settings import Settings
from bascule.platforms.kubernetes.store import Store
from bascule.platforms.kubernetes.wire import meta_in
from bascule.ports import Clock

S = TypeVar("S", bound=Store)


def open_store(
    access: Access, clock: Clock, settings: Settings, *, installation: str = ""
) -> AbstractAsyncContextManager[Store]:
    """
    Open the cluster of *access*.

    *installation* is part of every key; whoever drives without one asks `installation_of`.
    """
    return opened(Store, access, clock, settings, installation=installation)


@asynccontextmanager
async def opened(
    kind: type[S], access: Access, clock: Clock, settings: Settings, *, installation: str = ""
) -> AsyncIterator[S]:
    """Open the cluster of *access* as a store of that *kind*."""
    try:
        async with KubeClient(access, answer_within=settings.answer_within) as client, asyncio.TaskGroup() as tasks:
            store = kind(client, clock, settings, tasks=tasks, installation=installation)
            try:
                yield store
            finally:
                await store.aclose()
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None  # the group wraps what the caller's block raised


async def read_job(access: Access, ref: Ref) -> Job | None:
    """Return the job *ref* as it is stored now, without following anything."""
    async with KubeClient(access) as client:
        return await Reader(client, None).job(ref)


async def installation_of(access: Access, namespace: str) -> str:
    """
    Return the short name of the installation whose operator lives in *namespace*.

    It follows from the namespace's uid: a reinstall keeps it, another cluster has another.
    """
    async with KubeClient(access) as client:
        try:
            return installation_from(meta_in(await client.get(names.namespace_path(namespace))).uid)
        except Rejected as refusal:
            raise Mistake(
                f"namespace `{namespace}` cannot be read: {refusal.message}",
                hint="it must exist, and the operator needs `get` on it",
            ) from refusal
