"""Jobs of LSF, Ray and a quantum service from Kubernetes: by the operator itself, and each with a pod of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.platforms.kubernetes import manifest
from tests.mirrors.world import HERE

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
BELL = """\
OPENQASM 3.0;
include "stdgates.inc";
qubit[2] q;
bit[2] meas;
h q[0];
cx q[0], q[1];
meas = measure q;
"""


@pytest.fixture(scope="module")
def center(tether) -> Iterator[dict[str, str]]:
    """Run the fake Application Center; what it says of itself."""
    command = [sys.executable, "-m", "tests.fakes.lsf", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as server:
        tether.hold(server.pid)
        yield dict(server.stdout.readline().rstrip("\n").split(": ", 1) for _ in range(3))
        server.send_signal(signal.SIGINT)
        server.wait()
        tether.let_go(server.pid)


@pytest.fixture(params=["None", "Isolated"])
def uses(request, world):
    """Return what makes a target `far` of another manager, with its secret, for this mirror."""

    def use(manager: str, url: str, secret: dict[str, str], **spec: object) -> None:
        world.put_secret("far", **secret)
        secrets = ("far", "hpc-token")
        for document in (
            *manifest.for_agents(world.namespace, secrets=secrets, targets=(), operator=HERE),
            *manifest.for_operator(world.namespace, secrets=secrets, operator=HERE),
        ):
            world.apply(document)
        credentials = {"credentials": {"secret": {"name": "far", "from": "JobNamespace"}}} if secret else {}
        target = world.target("far", manager=manager, url=url, mirror=request.param, **spec)
        target["spec"] = {key: value for key, value in target["spec"].items() if key not in {"credentials", "files"}}
        target["spec"] |= credentials
        target["spec"].setdefault("options", {}).pop("settleSeconds", None)
        world.apply(target)

    use.mirror = request.param
    return use


def submitted(world, name: str, **spec: object) -> None:
    metadata = {"name": name, "namespace": world.namespace}
    job = {"apiVersion": "bascule.dev/v1alpha1", "kind": "BridgeJob", "metadata": metadata}
    world.apply({**job, "spec": {"target": {"name": "far"}, **spec}})


def shown(world, uses, name: str) -> str:
    """Return what the job's pod has printed, or nothing where it has none."""
    assert (world.pod(name) is None) == (uses.mirror == "None")
    return world.log(name).decode()


def test_a_job_of_lsf_comes_to_its_end(world, uses, center):
    uses("lsf", center["url"], {"user": center["user"], "password": center["password"]})

    submitted(world, "three", run={"script": "#!/bin/sh\necho from LSF\nexit 3\n"})

    status = world.until_phase("three", "Failed")
    assert (3, "ExitCode", 1) == (status["exitCode"], status["reason"], status["attempt"])
    if uses.mirror == "Isolated":
        world.until(lambda: shown(world, uses, "three") == "from LSF\n")


def test_a_job_of_ray_comes_to_its_end(world, uses, ray_head):
    uses("ray", ray_head.url, {}, options={})

    submitted(world, "three", run={"command": ["sh", "-c", "echo from Ray; exit 3"]})

    status = world.until_phase("three", "Failed")
    assert (3, "ExitCode", 1) == (status["exitCode"], status["reason"], status["attempt"])
    if uses.mirror == "Isolated":
        world.until(lambda: "from Ray\n" in shown(world, uses, "three"))


def test_a_quantum_job_comes_to_its_end(world, uses, quantum_gateway):
    host = quantum_gateway.url.removesuffix("/api/v1")
    options = {"iam": host, "instance": quantum_gateway.instance, "backend": "aer", "submitsPerMinute": 0}
    uses("quantum", f"{host}/api/v1", {"token": quantum_gateway.key}, options=options)

    program = {"id": "sampler", "params": {"pubs": [[BELL]]}}
    submitted(world, "bell", run={"program": program}, options={"shots": 100, "maxExecutionTime": "1m"})

    status = world.until_phase("bell", "Succeeded")
    assert 1 == status["attempt"]
    if uses.mirror == "Isolated":
        world.until(lambda: re.search(r'"meas":\{"', shown(world, uses, "bell")))
