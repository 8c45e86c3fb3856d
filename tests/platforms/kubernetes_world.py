"""Worlds of the platform Kubernetes: one real API server, asked by several stores as if by several processes."""

from __future__ import annotations

import asyncio
import base64
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from bascule.clients.kube import Access, KubeClient, Rejected, access_from_environment
from bascule.clients.kube.client import APPLY, METADATA_LIST
from bascule.errors import Unavailable
from bascule.model import Duration, JobSpec, Target, TargetSpec, Warn
from bascule.platforms.kubernetes import Settings, Store, names, open_store
from bascule.platforms.kubernetes.crds import crds
from bascule.wiring import SystemClock
from tests.contracts.platform_world import EVERY_FIELD_OF_SPEC, PlatformWorld

INSTALLATION = "k8test"
NAMESPACES = ("default", "other")
_established: set[str] = set()


class Freezable(SystemClock):
    """A clock that can stop for whoever sleeps by it, as SIGSTOP would stop them; time goes on."""

    def __init__(self) -> None:
        self.runs = asyncio.Event()
        self.runs.set()

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        await self.runs.wait()


class KubernetesWorld(PlatformWorld):
    """Starts with no jobs and no targets; the Lease is short, and has a name of its own."""

    largest_script = 128 * 1024
    takes_any_text = False

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        super().__init__(folder)
        self.access: Access = access_from_environment(str(kubeconfig))
        self.clock = SystemClock()
        self.lease = f"lease-{uuid4()}"
        self._drivers_clock = Freezable()

    async def __aenter__(self) -> Self:
        self._open = AsyncExitStack()
        self.client = await self._open.enter_async_context(KubeClient(self.access))
        await prepare(self.client)
        self.driver = await self.open(self._drivers_clock)
        assert await self.driver.lead()
        self.front = await self.open(self.clock)
        return self

    async def __aexit__(self, *fault: object) -> None:
        await self._open.aclose()

    async def open(self, clock: SystemClock, **settings: Any) -> Store:
        """Open the cluster once more, as another process would."""
        settings = {"lease": self.lease, "duration": 15, "renew": 1.0, "retry": 0.05, **settings}
        opened = open_store(self.access, clock, Settings(**settings), installation=INSTALLATION)
        return await self._open.enter_async_context(opened)

    async def successor(self) -> Store:
        """The driver is frozen for longer than its Lease lasts."""
        self._drivers_clock.runs.clear()
        await self._shorten_lease()
        successor = await self.open(self.clock)
        while not await successor.lead():  # noqa: ASYNC110 - as whoever wants to lead does
            await asyncio.sleep(0.05)
        return successor

    async def _shorten_lease(self) -> None:
        """Let the frozen driver's Lease have lasted one second, so that the test need not wait for fifteen."""
        path = names.lease("default", self.lease)
        await self.client.patch(path, {"spec": {"leaseDurationSeconds": 1}})
        self.driver.lease._valid_until -= self.driver.settings.deadline

    def put_secret(self, namespace: str, name: str, key: str, value: str) -> None:
        async def put() -> None:
            async with KubeClient(self.access) as client:
                document = {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": name},
                    "data": {key: base64.b64encode(value.encode()).decode()},
                }
                path = names.core("secrets", namespace, name)
                await client.patch(path, document, kind=APPLY, query={"fieldManager": "tests", "force": "true"})

        _in_thread(put)

    async def a_moment(self) -> None:
        """Wait for the next second: the API server's times have no smaller parts."""
        await asyncio.sleep(1.1)

    def script(self, text: str) -> str:
        """Return *text* behind the line that every script begins with."""
        return f"#!/bin/sh\n{text}"

    def every_field_of_spec(self) -> JobSpec:
        """Return all but what excludes the rest: a job that is adopted runs nothing."""
        return replace(EVERY_FIELD_OF_SPEC, adopt=None, signal=Warn("USR1", Duration(minutes=1)))

    def target(self, name: str = "hpc", **fields: Any) -> Target:
        """Return a target that says how to mirror, as it must here."""
        spec = TargetSpec(manager="slurm", mirror="None", **fields)
        return Target(namespace="default", name=name, uid="", spec=spec)


def _in_thread(work: Any) -> None:
    """Run *work* to its end on a loop of another thread: the port of the contract is no coroutine."""
    from threading import Thread

    thread = Thread(target=lambda: asyncio.run(work()))
    thread.start()
    thread.join()


async def prepare(client: KubeClient) -> None:
    """Let there be the definitions, the namespaces, and nothing in them."""
    if client.access.server not in _established:
        await establish(client)
        _established.add(client.access.server)
    await empty(client)


async def establish(client: KubeClient) -> None:
    """Apply the definitions, and wait until they are served."""
    for name in NAMESPACES:
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.patch(
            names.namespace_path(name), document, kind=APPLY, query={"fieldManager": "tests", "force": "true"}
        )
    for document in crds():
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{document['metadata']['name']}"
        await client.patch(path, document, kind=APPLY, query={"fieldManager": "tests", "force": "true"})
    for kind in ("bridgejobs", "bridgetargets"):
        async with asyncio.timeout(30):
            while not await _is_served(client, kind):  # noqa: ASYNC110 - the API server tells nobody
                await asyncio.sleep(0.05)


async def _is_served(client: KubeClient, kind: names.Kind) -> bool:
    try:
        await client.get(names.collection(kind))
    except Rejected as refusal:
        if refusal.code == 404:
            return False
        raise
    except Unavailable:  # the API server makes a new storage for a changed definition
        return False
    return True


async def empty(client: KubeClient) -> None:
    """Remove all jobs and targets, whatever holds them."""
    for kind in ("bridgejobs", "bridgetargets"):
        listed = msgspec.json.decode(await client.get(names.collection(kind), accept=METADATA_LIST))
        async with asyncio.TaskGroup() as tasks:
            for document in listed["items"] or ():
                tasks.create_task(_remove(client, kind, document["metadata"]))


async def _remove(client: KubeClient, kind: names.Kind, metadata: dict[str, Any]) -> None:
    path = f"{names.collection(kind, metadata['namespace'])}/{metadata['name']}"
    try:
        if metadata.get("finalizers"):
            # Where the policies hold, nobody else may take the finalizer from a job that is not abandoned.
            abandoned = {"finalizers": None, "annotations": {"bascule.dev/abandon": "true"}}
            await client.patch(path, {"metadata": abandoned})
        await client.delete(path)
    except Rejected as refusal:
        if refusal.code != 404:
            raise
