"""The admission policies of the chart, on a real API server: who may write what, and what no target's url may be."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from bascule.clients.kube import KubeClient, Rejected, access_from_environment
from bascule.clients.kube.client import APPLY, MERGE
from bascule.errors import Error
from bascule.platforms.kubernetes.crds import crds
from tests.clients.address_forms import INNER, INNER_V6, OPEN, OPEN_V6, numbers, other_scripts, within_v6
from tests.deploy.installing import policies, rights
from tests.mirrors.kubelet import kubeconfig_of
from tests.mirrors.world import apply

pytestmark = [pytest.mark.real, pytest.mark.root]

HELD = "bascule.dev/outside"


@pytest.fixture
async def room(control_plane, namespace, tmp_path):
    """A namespace in which the policies hold, and no other: other tests share the API server."""
    access = access_from_environment(str(control_plane.kubeconfig))
    client = KubeClient(access)
    room = Room(client, access, namespace, tmp_path)
    try:
        await room.prepare()
        yield room
    finally:
        await room.clear()
        await client.aclose()


class Room:
    def __init__(self, client, access, namespace, folder):
        self.client = client
        self.access = access
        self.namespace = namespace
        self.folder = folder
        self.policies = []

    async def prepare(self):
        for document in (*crds(), *rights()):
            await apply(self.client, document)
        await apply(self.client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        self.policies = policies(self.namespace, {"kubernetes.io/metadata.name": self.namespace})
        for document in self.policies:
            await apply(self.client, document)
        await self.until_refused()

    async def until_refused(self):
        """Policies come into force a little later than they are there."""
        for _ in range(300):
            with suppress(Error):
                if await self.refusal_of("https://127.0.0.1:1"):
                    return
            await asyncio.sleep(0.1)
        raise AssertionError("no policy came into force")

    async def clear(self):
        for document in self.policies:
            plural = "policies" if document["kind"].endswith("Policy") else "policybindings"
            path = f"/apis/admissionregistration.k8s.io/v1/validatingadmission{plural}/{document['metadata']['name']}"
            with suppress(Error):
                await self.client.delete(path)
        with suppress(Error):
            await self.client.delete(f"/api/v1/namespaces/{self.namespace}")

    async def refusal_of(self, url, allow=()):
        """Return why a target with *url* is refused; empty where it is not."""
        target = {
            "apiVersion": "bascule.dev/v1alpha1",
            "kind": "BridgeTarget",
            "metadata": {"name": "hpc", "namespace": self.namespace},
            "spec": {
                "manager": "slurm",
                "url": url,
                "mirror": "Isolated",
                "network": {"allow": list(allow), "plaintext": True},
            },
        }
        path = f"/apis/bascule.dev/v1alpha1/namespaces/{self.namespace}/bridgetargets"
        try:
            await self.client.send("POST", path, target, query={"dryRun": "All"})
        except Rejected as refusal:
            return refusal.message
        return ""

    @property
    def job(self):
        return f"/apis/bascule.dev/v1alpha1/namespaces/{self.namespace}/bridgejobs/train"

    async def make_job(self):
        document = {
            "apiVersion": "bascule.dev/v1alpha1",
            "kind": "BridgeJob",
            "metadata": {"name": "train", "namespace": self.namespace, "finalizers": [HELD]},
            "spec": {"target": {"name": "hpc"}, "run": {"script": "#!/bin/sh\n"}},
        }
        await self.client.patch(self.job, document, kind=APPLY, query={"fieldManager": "tests", "force": "true"})


class TestTargets:
    async def test_inner_addresses_are_refused_in_whatever_notation(self, room):
        hosts = [
            form for text in (INNER[0], *INNER[3:5], "10.0.0.1") for form in (*numbers(text), *other_scripts(text))
        ]
        hosts += [f"[{form}]" for text in (INNER[0], INNER[3]) for form in within_v6(text)]
        hosts += [f"[{text}]" for text in INNER_V6[:8]]

        taken = [host for host in hosts if not await room.refusal_of(f"https://{host}:6820")]

        assert not taken

    async def test_open_ones_and_names_are_not(self, room):
        hosts = [*OPEN, *(f"[{text}]" for text in OPEN_V6), "slurm.example.org", "a-b.example", "xn--bcher-kva.example"]

        refused = {host: why for host in hosts if (why := await room.refusal_of(f"https://{host}:6820"))}

        assert not refused

    async def test_nor_are_inner_ones_that_the_owner_names(self, room):
        assert not await room.refusal_of("https://10.20.1.1:6820", allow=["10.20.0.0/16"])
        assert not await room.refusal_of("https://[fd12::1]:6820", allow=["fd12::/16"])
        assert await room.refusal_of("https://10.21.1.1:6820", allow=["10.20.0.0/16"])

    async def test_the_refusal_says_what_to_do(self, room):
        assert "network.allow" in await room.refusal_of("https://10.0.0.1:6820")


class TestJobs:
    async def test_a_status_is_written_by_nobody_else(self, room):
        await room.make_job()

        with pytest.raises(Rejected, match="written by Bascule only"):
            await room.client.patch(f"{room.job}/status", {"status": {"phase": "Succeeded"}}, kind=MERGE)

    async def test_the_finalizer_is_taken_away_only_from_what_is_abandoned(self, room):
        await room.make_job()

        with pytest.raises(Rejected, match=r"bascule\.dev/abandon"):
            await room.client.patch(room.job, {"metadata": {"finalizers": []}}, kind=MERGE)

        abandoned = {"metadata": {"annotations": {"bascule.dev/abandon": "true"}, "finalizers": []}}
        await room.client.patch(room.job, abandoned, kind=MERGE)

    async def test_other_changes_are_let_through(self, room):
        await room.make_job()

        await room.client.patch(room.job, {"spec": {"cancel": True}, "metadata": {"labels": {"a": "b"}}}, kind=MERGE)

    async def test_the_operator_may_do_both(self, room):
        await room.make_job()
        path = room.folder / "operator.kubeconfig"
        await kubeconfig_of(room.client, room.access, "bascule-system", "bascule-operator", path)

        async with KubeClient(access_from_environment(str(path))) as operator:
            await operator.patch(f"{room.job}/status", {"status": {"phase": "Pending"}}, kind=MERGE)
            await operator.patch(room.job, {"metadata": {"finalizers": []}}, kind=MERGE)
