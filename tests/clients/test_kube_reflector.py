"""Following a collection of a real API server, whatever happens to the connection between."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bascule.clients.kube import KubeClient, Meta, Reflector, access_from_environment
from bascule.clients.kube.meta import Key
from bascule.platforms.kubernetes import names
from tests.clients.wire import Wire
from tests.platforms.kubernetes_world import prepare

pytestmark = [
    pytest.mark.real,
    pytest.mark.root,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JOBS = names.collection("bridgejobs", "default")
A_JOB = {
    "apiVersion": names.API_VERSION,
    "kind": "BridgeJob",
    "spec": {"target": {"name": "x"}, "run": {"command": ["true"]}},
}
SOON = 30.0


class Followed:
    """A reflector behind a wire, and what it told."""

    def __init__(self, wire: Wire, through: KubeClient, direct: KubeClient, *, idle: float, jobs: bool) -> None:
        self.wire = wire
        self._direct = direct
        self._path = JOBS if jobs else CONFIG_MAPS
        self._body = A_JOB if jobs else {"apiVersion": "v1", "kind": "ConfigMap"}
        self.told: list[tuple[str, bool]] = []
        self.reflector = Reflector(through, self._path, self._tell, idle=idle)
        self._moved = asyncio.Event()

    def _tell(self, key: Key, meta: Meta | None) -> None:
        if key.name.startswith("followed-"):
            self.told.append((key.name.removeprefix("followed-"), meta is not None))
            self._moved.set()

    async def put(self, name: str, value: str = "") -> None:
        document = {**self._body, "metadata": {"name": f"followed-{name}"}}
        if self._path == CONFIG_MAPS:
            document["data"] = {"value": value}
        query = {"fieldManager": "tests", "force": "true"}
        await self._direct.patch(
            f"{self._path}/followed-{name}", document, kind="application/apply-patch+yaml", query=query
        )

    async def remove(self, name: str) -> None:
        await self._direct.delete(f"{self._path}/followed-{name}")

    async def heard(self, name: str, *, there: bool = True) -> None:
        """Wait until it told of *name*; what it told so far is used up."""
        async with asyncio.timeout(SOON):
            while (name, there) not in self.told:
                self._moved.clear()
                await self._moved.wait()
        self.told.clear()


@pytest.fixture
async def followed(control_plane, request) -> AsyncIterator[Followed]:
    jobs = getattr(request, "param", "") == "jobs"
    access = access_from_environment(str(Path(control_plane.kubeconfig)))
    where = urlsplit(access.server)
    wire = Wire(where.hostname or "", where.port or 443)
    server = await asyncio.start_server(wire.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    mine = replace(access, server=f"https://127.0.0.1:{port}")
    async with KubeClient(mine) as through, KubeClient(access) as direct:
        await prepare(direct)
        await direct.send("DELETE", CONFIG_MAPS)
        followed = Followed(wire, through, direct, idle=3.0, jobs=jobs)
        async with running(followed.reflector):
            yield followed
    server.close()
    wire.cut()
    gc.collect()


@asynccontextmanager
async def running(reflector: Reflector) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(reflector.run())
        async with asyncio.timeout(SOON):
            await reflector.synced.wait()
        yield
        task.cancel()


async def test_tells_what_appears_moves_and_goes(followed):
    await followed.put("a")
    await followed.heard("a")
    await followed.put("a", "1")
    await followed.heard("a")
    await followed.remove("a")
    await followed.heard("a", there=False)

    assert 1 == followed.reflector.lists


async def test_a_cut_connection_loses_nothing(followed):
    await followed.put("a")
    await followed.heard("a")

    followed.wire.cut()
    await followed.put("b")
    await followed.remove("a")

    await followed.heard("b")
    assert 1 == followed.reflector.lists, "it goes on from where it was"


async def test_an_api_server_that_refuses_for_a_while_is_come_back_to(followed):
    followed.wire.refuses = True
    followed.wire.cut()
    await followed.put("a")
    await asyncio.sleep(1)

    followed.wire.refuses = False

    await followed.heard("a")


async def test_a_silent_connection_is_given_up(followed):
    """
    Nothing says that it is dead: no end, no error, only nothing.
    """
    watches = followed.reflector.watches
    followed.wire.fall_silent()

    await followed.put("a")

    await followed.heard("a")
    assert watches < followed.reflector.watches


@pytest.mark.parametrize("followed", ["jobs"], indirect=True)
async def test_a_version_that_is_too_old_leads_to_a_list_and_what_went_meanwhile_is_told(followed):
    await followed.put("a")
    await followed.put("b")
    await followed.heard("b")

    followed.reflector._version = "1"
    followed.wire.refuses = True
    followed.wire.cut()
    await followed.remove("a")
    followed.wire.refuses = False

    await followed.heard("a", there=False)
    assert 2 == followed.reflector.lists


async def test_an_object_of_a_mebibyte_is_a_line_like_any_other(followed):
    await followed.put("large", "x" * 1_000_000)

    await followed.heard("large")


async def test_a_version_that_nobody_has_leads_to_a_list(followed):
    """
    As after etcd was set back to an older state: what is asked for lies in the future.
    """
    followed.reflector._version = str(2**60)
    followed.wire.cut()
    await followed.put("a")

    await followed.heard("a")
