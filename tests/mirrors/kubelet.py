"""
A stand-in for kubelets, over a real API server: it runs each pod's `bascule` as a process of this machine.

What it does not do: images, volumes, security contexts, probes. What it does as a kubelet
does: the service account's own rights, phases and exit codes, the termination message,
TERM and the grace period for a pod that is deleted, and finalizers. A test can take a pod
away as an eviction or a dead node would.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bascule.clients.kube import Access, KubeClient, Rejected
from bascule.clients.kube.client import MERGE
from bascule.errors import Error
from tests.testbed.tether import Tether

LOOK = 0.1
Document = dict[str, Any]


class StandInKubelet:
    """Runs pods, until cancelled; *settings* is what their containers get besides."""

    def __init__(self, access: Access, folder: Path, tether: Tether) -> None:
        self.access = access
        self.folder = folder
        self._tether = tether
        self.settings: dict[str, str] = {}
        self.namespaces: set[str] = set()
        """Whose pods are run here; other tests have their own."""
        self.is_dead = False
        """Whether the node is lost: its pods stay as they are, and what runs goes on running."""
        self.running: dict[str, asyncio.subprocess.Process] = {}
        self.logs: dict[str, list[Path]] = {}
        """What each pod printed, by namespace and name: a file for each pod of that name."""
        self.ended: list[Document] = []
        self._asked: set[str] = set()

    async def run(self) -> None:
        """Run pods until cancelled."""
        async with KubeClient(self.access) as client:
            self._client = client
            try:
                while True:
                    with suppress(Error):
                        await self._look()
                    await asyncio.sleep(LOOK)
            finally:
                for process in self.running.values():
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                for process in self.running.values():
                    await process.wait()

    async def evict(self, namespace: str, name: str) -> None:
        """Take a pod away as the eviction API does."""
        await self._disrupt(namespace, name, "EvictionByEvictionAPI")
        await self._client.delete(_path(namespace, name))

    async def lose(self, namespace: str, name: str) -> None:
        """Take a pod away as the taint of a dead node does: nobody is left to confirm its end."""
        self.is_dead = True
        await self._disrupt(namespace, name, "DeletionByTaintManager")
        await self._client.delete(_path(namespace, name), {"gracePeriodSeconds": 1})

    async def _disrupt(self, namespace: str, name: str, reason: str) -> None:
        # Without its time the disruption controller takes the condition for an old one, and turns it at once.
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": reason,
            "message": "taken away",
            "lastTransitionTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        }
        await self._patch_status(namespace, name, {"conditions": [condition]})

    async def _look(self) -> None:
        if self.is_dead:
            return
        pods = msgspec.json.decode(await self._client.get("/api/v1/pods"))["items"]
        for pod in pods:
            meta = pod["metadata"]
            uid, phase = meta["uid"], pod.get("status", {}).get("phase", "Pending")
            if meta["namespace"] not in self.namespaces:
                continue
            if uid in self.running:
                await self._follow(pod)
            elif meta.get("deletionTimestamp"):
                await self._confirm(meta)
            elif phase == "Pending":
                await self._start(pod)

    async def _start(self, pod: Document) -> None:
        meta, [container] = pod["metadata"], pod["spec"]["containers"]
        uid, key = meta["uid"], f"{meta['namespace']}/{meta['name']}"
        folder = self.folder / uid
        folder.mkdir(exist_ok=True)
        (folder / "message").touch()
        env = {each["name"]: each.get("value", meta["name"]) for each in container.get("env", ())}
        # The API server fills in what a container asks for, and so does a kubelet.
        settings = {
            **{name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}},
            **env,
            **self.settings,
            "BASCULE_HOME": str(folder),
            "BASCULE_MESSAGE_FILE": str(folder / "message"),
            "KUBECONFIG": str(await self._kubeconfig(meta["namespace"], pod["spec"]["serviceAccountName"], folder)),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        log = folder / "log"
        self.logs.setdefault(key, []).append(log)
        with log.open("wb") as output:
            self.running[uid] = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bascule", *container["args"]),
                env=settings,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._tether.hold(self.running[uid].pid)
        await self._patch_status(meta["namespace"], meta["name"], {"phase": "Running"})

    async def _follow(self, pod: Document) -> None:
        meta = pod["metadata"]
        process = self.running[meta["uid"]]
        if meta.get("deletionTimestamp") and meta["uid"] not in self._asked and process.returncode is None:
            self._asked.add(meta["uid"])
            process.terminate()
        if process.returncode is None:
            return
        del self.running[meta["uid"]]
        self._tether.let_go(process.pid)
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        message = (self.folder / meta["uid"] / "message").read_text()
        ended = {"exitCode": code, "message": message, "reason": "Completed" if code == 0 else "Error"}
        self.ended.append({"name": meta["name"], "namespace": meta["namespace"], **ended})
        status = {
            "name": "agent",
            "state": {"terminated": ended},
            "ready": False,
            "restartCount": 0,
            "image": "",
            "imageID": "",
        }
        with suppress(Rejected):
            await self._patch_status(
                meta["namespace"],
                meta["name"],
                {"phase": "Succeeded" if code == 0 else "Failed", "containerStatuses": [status]},
            )
        if meta.get("deletionTimestamp"):
            await self._confirm(meta)

    async def _confirm(self, meta: Document) -> None:
        """Tell the API server that nothing of the pod runs any more."""
        with suppress(Rejected):
            await self._client.delete(
                _path(meta["namespace"], meta["name"]),
                {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}},
            )

    async def _patch_status(self, namespace: str, name: str, status: Document) -> None:
        await self._client.patch(f"{_path(namespace, name)}/status", {"status": status}, kind=MERGE)

    async def _kubeconfig(self, namespace: str, account: str, folder: Path) -> Path:
        return await kubeconfig_of(self._client, self.access, namespace, account, folder / "kubeconfig")


async def kubeconfig_of(client: KubeClient, access: Access, namespace: str, account: str, path: Path) -> Path:
    """Write a kubeconfig of a service account to *path*, with a token that the API server has made."""
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    made = await client.post(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", request)
    token = msgspec.json.decode(made)["status"]["token"]
    authority = path.with_suffix(".ca")
    authority.write_text(access.ca or "")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": access.server, "certificate-authority": str(authority)}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
        "current-context": "x",
    }
    path.write_bytes(msgspec.json.encode(config))  # noqa: ASYNC240 - a small file
    return path


def _path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"
