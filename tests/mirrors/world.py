"""
The world of controller pods: a real API server, an operator and agents as processes, and a fake slurmrestd.

The operator and the agents have the rights of their service accounts and no others: what
the chart and the printed manifest grant.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from bascule.clients.kube import KubeClient, Rejected, access_from_environment
from bascule.clients.kube.client import APPLY, MERGE
from bascule.errors import Error
from bascule.platforms.kubernetes import manifest
from bascule.platforms.kubernetes.crds import crds
from tests.deploy.installing import GUARDED, policies, rights
from tests.fakes.slurmrestd.cluster import FakeCluster, FakeJob
from tests.fakes.slurmrestd.server import TOKEN, FakeSlurmrestd
from tests.mirrors.kubelet import Document, StandInKubelet, kubeconfig_of
from tests.testbed.tether import Tether

T = TypeVar("T")
HERE = "bascule-system"
PATIENCE = 100.0
_serial = count(1)


class MirrorWorld:
    """Starts what is needed; each test has a namespace of its own."""

    def __init__(self, kubeconfig: Path, folder: Path, tether: Tether) -> None:
        self.access = access_from_environment(str(kubeconfig))
        self.folder = folder
        self.shared = folder / "shared"
        self.shared.mkdir()
        self.cluster = FakeCluster(time.time)
        self.slurm = FakeSlurmrestd(self.cluster)
        self.kubelet = StandInKubelet(self.access, folder, tether)
        self.tether = tether
        self.namespace = ""
        self.operator: subprocess.Popen[bytes] | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.slurm.__enter__()
        self._client = self.call(self._opened())
        self._kubelet = self.call(self._started(self.kubelet.run()))
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_operator()
        self.call(ended(self._kubelet))
        self.call(self._client.aclose())
        self.slurm.__exit__()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Do *work* in the loop of this world."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _started(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.create_task(work)

    async def _opened(self) -> KubeClient:
        client = KubeClient(self.access)
        try:
            for document in (*crds(), *rights(), *policies()):
                await apply(client, document)
            await self._established(client)
        except BaseException:
            await client.aclose()
            raise
        return client

    async def _established(self, client: KubeClient) -> None:
        for _ in range(100):
            with suppress(Error):  # not known yet, or not ready
                await client.get("/apis/bascule.dev/v1alpha1/bridgejobs")
                await client.get("/apis/bascule.dev/v1alpha1/bridgetargets")
                return
            await asyncio.sleep(0.1)

    # Where a test lives

    def new_namespace(self, *, with_manifest: bool = True, guarded: bool = True) -> str:
        """Make a namespace for one test, with a Secret and a target `hpc`; return its name. The policies hold if *guarded*."""
        self.namespace = f"team-{next(_serial)}-{os.getpid()}"
        self.kubelet.namespaces.add(self.namespace)
        (self.shared / self.namespace).mkdir()
        metadata = {"name": self.namespace, "labels": GUARDED if guarded else {}}
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        if with_manifest:
            self.apply_manifest()
        self.put_secret("hpc-token", token=TOKEN)
        self.apply(self.target("hpc"))
        return self.namespace

    def apply_manifest(self) -> None:
        """Do what the namespace's admin does."""
        for document in manifest.for_agents(self.namespace, secrets=("hpc-token",), targets=(), operator=HERE):
            self.apply(document)

    def target(self, name: str, **spec: Any) -> Document:
        return {
            "apiVersion": "bascule.dev/v1alpha1",
            "kind": "BridgeTarget",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "manager": "slurm",
                "url": self.slurm.url,
                "credentials": {"user": "alice", "secret": {"name": "hpc-token", "from": "JobNamespace"}},
                "network": {"allow": ["127.0.0.1/32"], "plaintext": True},
                "files": {"root": str(self.shared)},
                "limits": {"pollInterval": "1s"},
                "options": {"settleSeconds": 2},
                "mirror": "Isolated",
                **spec,
            },
        }

    def put_secret(self, name: str, **values: str) -> None:
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        metadata = {"name": name, "namespace": self.namespace}
        self.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})

    def submit(self, name: str, **spec: Any) -> None:
        self.apply(
            {
                "apiVersion": "bascule.dev/v1alpha1",
                "kind": "BridgeJob",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {
                    "target": {"name": "hpc"},
                    "run": {"script": "#!/bin/sh\nsleep 60\n"},
                    "workingDirectory": str(self.shared / self.namespace),
                    **spec,
                },
            }
        )

    # The operator

    def start_operator(self, **settings: str) -> None:
        self._started_at = time.monotonic()
        kubeconfig = self.folder / "operator.kubeconfig"
        if not kubeconfig.exists():  # its token is good for an hour
            self.call(kubeconfig_of(self._client, self.access, HERE, "bascule-operator", kubeconfig))
        with (self.folder / "operator.log").open("ab") as log:
            self.operator = subprocess.Popen(
                [
                    *(sys.executable, "-m", "bascule", "operator", "--port=0", "--lease-seconds=15"),
                    *(f"--namespace={HERE}", f"--home={self.folder}"),
                ],
                env={
                    **os.environ,
                    "KUBECONFIG": str(kubeconfig),
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    "BASCULE_AGENT_IMAGE": "localhost/bascule:test",
                    **settings,
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.tether.hold(self.operator.pid)

    def stop_operator(self, number: int = signal.SIGTERM) -> None:
        if self.operator is not None:
            self.operator.send_signal(number)
            self.operator.wait(30)
            self.tether.let_go(self.operator.pid)
            self.operator = None

    def expire_lease(self) -> None:
        """Let the Lease of an operator that is dead be over, as it would be after its time."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{HERE}/leases/bascule-operator"
        self.patch(path, {"spec": {"holderIdentity": ""}})

    # Looking and doing

    def get(self, path: str) -> Document | None:
        async def read() -> Document | None:
            try:
                return msgspec.json.decode(await self._client.get(path), type=dict)
            except Rejected as refusal:
                if refusal.code == 404:
                    return None
                raise

        return self.call(read())

    def job(self, name: str) -> Document:
        return self.get(self.path(name)) or {}

    def status(self, name: str) -> Document:
        return self.job(name).get("status") or {}

    def pod(self, name: str) -> Document | None:
        return self.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}-mirror")

    def path(self, name: str) -> str:
        return f"/apis/bascule.dev/v1alpha1/namespaces/{self.namespace}/bridgejobs/{name}"

    def apply(self, document: Document) -> None:
        self.call(apply(self._client, document))

    def patch(self, path: str, change: Document) -> None:
        self.call(self._client.patch(path, change, kind=MERGE))

    def delete(self, path: str) -> None:
        self.call(self._client.delete(path))

    def delete_pod(self, name: str) -> None:
        self.delete(f"/api/v1/namespaces/{self.namespace}/pods/{name}-mirror")

    def evict(self, name: str) -> None:
        self.call(self.kubelet.evict(self.namespace, f"{name}-mirror"))

    def agent(self, name: str) -> int:
        """Return the process id of the first process of a job's pod."""
        pod = self.pod(name)
        assert pod is not None
        return self.kubelet.running[pod["metadata"]["uid"]].pid

    def log(self, name: str) -> bytes:
        """Return what the latest pod of the job has printed."""
        logs = self.kubelet.logs.get(f"{self.namespace}/{name}-mirror", [])
        return logs[-1].read_bytes() if logs else b""

    def outside(self, name: str) -> list[FakeJob]:
        """Return all jobs that ever came to Slurm for the job *name* of this test."""
        uid_part = self.status(name).get("key", "").split("-")[-2:-1]
        jobs = [*self.cluster.live.values(), *self.cluster.past]
        return [job for job in jobs if job.name.startswith(f"{name}-") and uid_part[0] in job.name] if uid_part else []

    def the_outside(self, name: str) -> FakeJob:
        [job] = self.outside(name)
        return job

    def write(self, name: str, data: bytes) -> None:
        """Let the outside job write to its output."""
        job = self.the_outside(name)
        path = Path(job.desc["standard_output"].replace("%x", job.name).replace("%j", str(job.id)))
        with path.open("ab") as file:
            file.write(data)

    def until(self, condition: Callable[[], T], within: float = PATIENCE) -> T:
        """Wait until *condition* holds; return what it gave."""
        ends = time.monotonic() + within
        while not (found := condition()):
            self._tend()
            if self._kubelet.done():
                self._kubelet.result()  # raises what ended it: without it no pod runs
            assert time.monotonic() < ends, self.tell()
            time.sleep(0.05)
        return found

    def _tend(self) -> None:
        """Start an operator anew that has ended by itself, as whoever started it does."""
        code = self.operator.poll() if self.operator is not None else None
        if code is None or code <= 0 or time.monotonic() < self._started_at + 1:
            return
        self.start_operator()

    def until_phase(self, name: str, phase: str) -> Document:
        return self.until(lambda: status if (status := self.status(name)).get("phase") == phase else {})

    def running(self, name: str) -> FakeJob:
        """Submit a job and let it run."""
        self.submit(name)
        self.until(lambda: self.status(name).get("phase") == "Queued")
        outside = self.the_outside(name)
        self.cluster.start(outside.id)
        self.until_phase(name, "Running")
        return outside

    def tell(self) -> str:
        """Say all that is known, for whoever reads of a failure."""
        jobs = self.get(f"/apis/bascule.dev/v1alpha1/namespaces/{self.namespace}/bridgejobs") or {}
        told = [json.dumps({"name": job["metadata"], "status": job.get("status")}) for job in jobs.get("items", [])]
        logs = [f"{key}: {[log.read_text()[-2000:] for log in files]}" for key, files in self.kubelet.logs.items()]
        mine = [line for line in logs if line.startswith(self.namespace)]
        return "\n".join([*told, *mine, (self.folder / "operator.log").read_text()[-4000:]])


async def ended(task: asyncio.Task[None]) -> None:
    """End *task*, and wait until it has ended."""
    task.cancel()
    await asyncio.wait([task])


async def apply(client: KubeClient, document: Document) -> None:
    """Apply *document*, as `kubectl apply --server-side` would."""
    kind = document["kind"].lower()
    plural = {"validatingadmissionpolicy": "validatingadmissionpolicies"}.get(kind, f"{kind}s")
    group = document["apiVersion"]
    base = f"/api/{group}" if "/" not in group else f"/apis/{group}"
    namespace = document["metadata"].get("namespace")
    where = f"/namespaces/{namespace}" if namespace else ""
    path = f"{base}{where}/{plural}/{document['metadata']['name']}"
    await client.patch(path, document, kind=APPLY, query={"fieldManager": "tests", "force": "true"})
