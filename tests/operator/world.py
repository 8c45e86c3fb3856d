"""The operator as its own process with the rights that the chart gives it, and what people do by kubectl."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml

from bascule.clients.kube import KubeClient, access_from_environment
from bascule.platforms.kubernetes import manifest
from tests.deploy.installing import GUARDED, policies, rights
from tests.mirrors.kubelet import kubeconfig_of
from tests.mirrors.world import apply
from tests.platforms.kubernetes_world import prepare
from tests.testbed.kube import KubeCluster
from tests.testbed.slurm import SlurmCluster
from tests.testbed.tether import Tether

WITHIN = 60.0
LEASE = 10
HERE = "bascule-system"
LAB = "lab"
"""Where the people of these tests have their jobs and targets; the admission policies hold there."""
OTHER, OPEN = "other-lab", "open-lab"
"""Two more: in the second one no policies hold."""
LEFT = {0, -signal.SIGTERM, -signal.SIGKILL}
LIE = json.dumps({"status": {"phase": "Succeeded", "id": "1", "record": {"handle": {"id": "1", "key": "x"}}}})
"""What somebody may want a status to be."""
_installed: set[str] = set()


class Operator:
    """One `bascule operator`; its log is kept."""

    def __init__(self, kubeconfig: Path, log: Path, tether: Tether, *options: str, env: dict[str, str]) -> None:
        self.log = log
        self.ends: list[int] = []
        """The codes with which it ended and was started anew."""
        self._tether = tether
        self._line = [sys.executable, "-m", "bascule", "operator", "--port", "0", *options]
        self._env = {**os.environ, "KUBECONFIG": str(kubeconfig), **env}
        self._start()

    def _start(self) -> None:
        with self.log.open("ab") as file:
            self.process = subprocess.Popen(
                self._line, env=self._env, stderr=file, stdout=subprocess.DEVNULL, start_new_session=True
            )
        self._tether.hold(self.process.pid)

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def leads(self) -> bool:
        return "leads, with epoch" in self.said

    @property
    def lives(self) -> bool:
        return self.process.poll() is None

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def start_again(self) -> None:
        """Start it anew where it has ended by itself, as a kubelet does."""
        code = self.process.poll()
        if code is not None and code not in LEFT:
            self.ends.append(code)
            self._tether.let_go(self.process.pid)
            self._start()

    def stop(self) -> None:
        if self.lives:
            self.thaw()
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        self._tether.let_go(self.process.pid)


class Cluster:
    """An API server, as a person with kubectl sees it."""

    def __init__(self, testbed: KubeCluster, folder: Path, tether: Tether) -> None:
        self.folder = folder
        self.tether = tether
        self._testbed = testbed
        self._operators: list[Operator] = []
        self.kubeconfig = self._in_the_lab(testbed.kubeconfig, "admin")

    def _in_the_lab(self, kubeconfig: Path, name: str) -> Path:
        config = json.loads(kubeconfig.read_text())
        config["contexts"][0]["context"]["namespace"] = LAB
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def person(self, name: str) -> Path:
        """Return the kubeconfig of somebody who is admin of the lab, and nothing else."""
        return self._in_the_lab(self._testbed.kubeconfig_of(name), name)

    def prepare(self) -> None:
        """Install what the chart installs, once, and leave no jobs and targets of earlier tests."""
        asyncio.run(self._prepare())
        self.operators_kubeconfig = self.kubeconfig_of_account(HERE, "bascule-operator")
        self.expire_lease()

    async def _prepare(self) -> None:
        async with KubeClient(access_from_environment(str(self._testbed.kubeconfig))) as client:
            await prepare(client)
            if client.access.server not in _installed:
                for document in (*rights(), *policies("of-operator"), *_namespaces(), *_leave()):
                    await apply(client, document)
                _installed.add(client.access.server)

    def by_way_of(self, port: int) -> Path:
        """Return the operator's kubeconfig, with *port* of loopback as its way to the API server."""
        config = json.loads(self.operators_kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        path = self.folder / f"by-way-of-{port}.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def kubeconfig_of_account(self, namespace: str, account: str) -> Path:
        """Return the kubeconfig of a service account, which has its rights and no others."""

        async def made() -> Path:
            access = access_from_environment(str(self._testbed.kubeconfig))
            async with KubeClient(access) as client:
                return await kubeconfig_of(client, access, namespace, account, self.folder / f"{namespace}.kubeconfig")

        return asyncio.run(made())

    def operator(self, *options: str, kubeconfig: Path | None = None, **env: str) -> Operator:
        """Start an operator, and do not wait."""
        log = self.folder / f"operator-{uuid4().hex[:6]}.log"
        usual = (f"--namespace={HERE}", f"--lease-seconds={LEASE}")
        operator = Operator(kubeconfig or self.operators_kubeconfig, log, self.tether, *usual, *options, env=env)
        self._operators.append(operator)
        return operator

    @contextmanager
    def replicas(self, count: int, *options: str) -> Iterator[list[Operator]]:
        """Run so many operators, each of which is started anew when it ends."""
        operators = [self.operator(*options) for _ in range(count)]
        over = threading.Event()

        def tend() -> None:
            while not over.wait(1):
                for operator in operators:
                    operator.start_again()

        thread = threading.Thread(target=tend)
        thread.start()
        try:
            yield operators
        finally:
            over.set()
            thread.join()

    def expire_lease(self) -> None:
        """Let the Lease of an operator that is dead be over, as it would be after its time."""
        if self.get("lease", "bascule-operator", HERE):
            nobody = json.dumps({"spec": {"holderIdentity": ""}})
            self.kubectl("patch", "lease", "bascule-operator", "-n", HERE, "--type=merge", "-p", nobody)

    def kubectl(self, *words: str, given: str = "") -> str:
        line = self._testbed.kubectl_line(*words)
        environment = self._testbed.environment(self.kubeconfig)
        done = subprocess.run(line, input=given, env=environment, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr + done.stdout}"
        return done.stdout

    def apply(self, *documents: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", given=yaml.safe_dump_all(documents))

    def put_secret(self, name: str, **values: str) -> None:
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=json.dumps(secret(name, **values)))

    def get(self, kind: str, name: str, namespace: str = LAB) -> dict[str, Any] | None:
        found = self.kubectl("get", kind, name, "-n", namespace, "-o", "json", "--ignore-not-found")
        return json.loads(found) if found else None

    def job(self, name: str, namespace: str = LAB) -> dict[str, Any]:
        return self.get("bridgejob", name, namespace) or {}

    def status(self, name: str, namespace: str = LAB) -> dict[str, Any]:
        return self.job(name, namespace).get("status") or {}

    def phase(self, name: str, namespace: str = LAB) -> str:
        return self.status(name, namespace).get("phase", "")

    def close(self) -> None:
        for operator in self._operators:
            operator.stop()
        self.expire_lease()  # whoever was cut off could not


def _namespaces() -> Iterator[dict[str, Any]]:
    for name in (LAB, OTHER, OPEN):
        labels = {} if name == OPEN else GUARDED
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _leave() -> Iterator[dict[str, Any]]:
    """Give what the cluster's admin applies: the operator may read one Secret of the lab, and Ada is the lab's admin."""
    yield from manifest.for_operator(LAB, secrets=("hpc-token",), operator=HERE)
    rbac = "rbac.authorization.k8s.io"
    yield {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "admins", "namespace": LAB},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "ada"}],
    }


def until(holds: Callable[[], Any], what: str = "", *, within: float = WITHIN) -> Any:
    """Wait until *holds*, and return what it returns."""
    end = time.monotonic() + within
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {within:g} s: {what}")
        time.sleep(0.2)
    return found


def secret(name: str, namespace: str = LAB, **values: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": values,
    }


def target(slurm: SlurmCluster, namespace: str = LAB, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "bascule.dev/v1alpha1",
        "kind": "BridgeTarget",
        "metadata": {"name": "hpc", "namespace": namespace},
        "spec": {
            "manager": "slurm",
            "url": slurm.url,
            "credentials": {"user": slurm.user, "secret": {"name": "hpc-token"}},
            "network": {"allow": ["127.0.0.1/32"], "plaintext": True},
            "limits": {"pollInterval": "1s"},
            "options": {"settleSeconds": 3},
            "mirror": "None",
            **spec,
        },
    }


def job(name: str, slurm: SlurmCluster, script: str, namespace: str = LAB, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "bascule.dev/v1alpha1",
        "kind": "BridgeJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "target": {"name": "hpc"},
            "run": {"script": f"#!/bin/bash\n{script}\n"},
            "workingDirectory": str(slurm.jobs_dir),
            **spec,
        },
    }


_of_earlier_tests: set[str] = set()
"""What Slurm calls the jobs of tests that came before: a test's own may be called the same by people."""


def begin_records(slurm: SlurmCluster) -> None:
    """Let `records_of` tell of jobs that come from now on."""
    _of_earlier_tests.update(record.name for record in slurm.records())


def records_of(slurm: SlurmCluster, name: str) -> list[Any]:
    """Return what Slurm knows of this test's job *name*, in its own records."""
    found = [record for record in slurm.records() if re.match(rf"{re.escape(name)}-", record.name)]
    return [record for record in found if record.name not in _of_earlier_tests]
