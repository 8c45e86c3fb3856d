"""The operator as its own process, a real API server, and a real Slurm: what people do, by kubectl."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from bascule.clients.kube import KubeClient, access_from_environment
from tests.platforms.kubernetes_world import prepare
from tests.testbed.kube import KubeCluster
from tests.testbed.slurm import SlurmCluster

WITHIN = 60.0
LEASE = 10
_of_earlier_tests: set[str] = set()
"""What Slurm calls the jobs of tests that came before: a test's own may be called the same by people."""


class Operator:
    """One `bascule operator`; its log is kept."""

    def __init__(self, kubeconfig: Path, log: Path, *options: str, env: dict[str, str] | None = None) -> None:
        self.log = log
        self._file = log.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bascule", "operator", "--port", "0", "--lease-seconds", str(LEASE), *options],
            env={**os.environ, "KUBECONFIG": str(kubeconfig), **(env or {})},
            stderr=self._file,
            stdout=subprocess.DEVNULL,
        )

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def leads(self) -> bool:
        return "leads, with epoch" in self.said

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._file.close()


class Cluster:
    """An API server, as a person with kubectl sees it."""

    def __init__(self, testbed: KubeCluster, folder: Path) -> None:
        self.kubeconfig = testbed.kubeconfig
        self.folder = folder
        self._testbed = testbed
        self._open = ExitStack()

    def operator(self, *options: str, **env: str) -> Operator:
        """Start an operator, and do not wait."""
        log = self.folder / f"operator-{uuid4().hex[:6]}.log"
        operator = Operator(self.kubeconfig, log, *options, env=env)
        self._open.callback(operator.stop)
        return operator

    def kubectl(self, *words: str, given: str = "") -> str:
        return self._testbed.kubectl(*words, stdin=given, within=90)

    def apply(self, *documents: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", given=yaml.safe_dump_all(documents))

    def get(self, kind: str, name: str, namespace: str = "default") -> dict[str, Any] | None:
        found = self.kubectl("get", kind, name, "-n", namespace, "-o", "json", "--ignore-not-found")
        return json.loads(found) if found else None

    def job(self, name: str) -> dict[str, Any]:
        return self.get("bridgejob", name) or {}

    def status(self, name: str) -> dict[str, Any]:
        return self.job(name).get("status") or {}

    def phase(self, name: str) -> str:
        return self.status(name).get("phase", "")

    def close(self) -> None:
        self._open.close()


def until(holds: Callable[[], Any], what: str = "", *, within: float = WITHIN) -> Any:
    """Wait until *holds*, and return what it returns."""
    end = time.monotonic() + within
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {within:g} s: {what}")
        time.sleep(0.2)
    return found


@pytest.fixture
def kube(control_plane, tmp_path) -> Iterator[Cluster]:
    async def emptied() -> None:
        async with KubeClient(access_from_environment(str(control_plane.kubeconfig))) as client:
            await prepare(client)

    asyncio.run(emptied())
    cluster = Cluster(control_plane, tmp_path)
    try:
        yield cluster
    finally:
        cluster.close()
        for log in sorted(tmp_path.glob("operator-*.log")):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-6000:]}")


@pytest.fixture
def hpc(kube, slurm_2605_dbd) -> SlurmCluster:
    """A target `hpc` for real Slurm, with its token in a Secret."""
    slurm = slurm_2605_dbd
    _of_earlier_tests.update(record.name for record in slurm.records())
    kube.kubectl("delete", "secret", "hpc-token", "--ignore-not-found")
    kube.kubectl("create", "secret", "generic", "hpc-token", f"--from-literal=token={slurm.token()}")
    kube.apply(target(slurm))
    return slurm


def target(slurm: SlurmCluster, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "bascule.dev/v1alpha1",
        "kind": "BridgeTarget",
        "metadata": {"name": "hpc", "namespace": "default"},
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


def job(name: str, slurm: SlurmCluster, script: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "bascule.dev/v1alpha1",
        "kind": "BridgeJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "target": {"name": "hpc"},
            "run": {"script": f"#!/bin/bash\n{script}\n"},
            "workingDirectory": str(slurm.jobs_dir),
            **spec,
        },
    }


def records_of(slurm: SlurmCluster, name: str) -> list[Any]:
    """Return what Slurm knows of this test's job *name*, in its own records."""
    found = [record for record in slurm.records() if re.match(rf"{re.escape(name)}-", record.name)]
    return [record for record in found if record.name not in _of_earlier_tests]
