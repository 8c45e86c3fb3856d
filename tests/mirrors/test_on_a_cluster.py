"""The whole of it: two nodes, installed by Helm, real Slurm, and what happens when a node and the operator die."""

from __future__ import annotations

import subprocess
import time

import pytest
import yaml

from bascule.platforms.kubernetes import manifest
from tests.testbed.image import IMAGE
from tests.testbed.kube import KubeSpec

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow]

CHART = "deploy/chart"
HERE = "bascule-system"
LONG = 90.0


def until(condition, what, within=LONG):
    ends = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < ends, what() if callable(what) else what
        time.sleep(0.3)
    return found


class Town:
    """A cluster with Bascule on it, and a Slurm cluster outside."""

    def __init__(self, cluster, slurm, namespace):
        self.cluster = cluster
        self.slurm = slurm
        self.namespace = namespace

    def kubectl(self, *argv, **more):
        return self.cluster.kubectl("-n", self.namespace, *argv, **more)

    def job(self, name):
        path = f"/apis/bascule.dev/v1alpha1/namespaces/{self.namespace}/bridgejobs/{name}"
        return self.cluster.rest.get(path) or {}

    def phase(self, name):
        return self.job(name).get("status", {}).get("phase")

    def pod(self, name):
        return self.cluster.rest.get(f"/api/v1/namespaces/{self.namespace}/pods/{name}-mirror") or {}

    def until_phase(self, name, phase, within=LONG):
        until(lambda: self.phase(name) == phase, lambda: self.tell(name, phase), within)

    def tell(self, name, wanted):
        pods = self.cluster.kubectl("get", "pods", "-A", "-o", "wide")
        operator = self.cluster.kubectl("-n", HERE, "logs", "deployment/bascule-operator", "--tail=30", check=False)
        agent = self.kubectl("logs", f"{name}-mirror", check=False)
        return f"{name} is not {wanted}: {self.job(name).get('status')}\n{pods}\n{operator}\n{agent}"

    def submit(self, name, script):
        self.cluster.apply(
            {
                "apiVersion": "bascule.dev/v1alpha1",
                "kind": "BridgeJob",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {
                    "target": {"name": "hpc"},
                    "run": {"script": script},
                    "workingDirectory": str(self.slurm.jobs_dir),
                },
            }
        )

    def outside(self, name):
        """Return what Slurm's accounting has of the job *name*: id, state, exit code."""
        key = self.job(name)["status"]["key"]
        rows = self.slurm.run("sacct", "-X", "-n", "-P", "-D", "-o", "JobID,State,ExitCode", f"--name={key}")
        return [row.split("|") for row in rows.splitlines()]


@pytest.fixture
def town(start_kube, helm, bascule_image, slurm_2605_dbd, namespace):
    cluster = start_kube(KubeSpec(nodes=2))
    cluster.load(bascule_image)
    repository, _, tag = IMAGE.rpartition(":")
    settings = {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "network": {"guarded": ["10.96.0.0/16", "10.244.0.0/16"]},
        "agent": {"nodeLossSeconds": 3},
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
    }
    run = [
        str(helm),
        "upgrade",
        "--install",
        "bascule",
        CHART,
        "--namespace",
        HERE,
        "--create-namespace",
        "--values",
        "-",
    ]
    done = subprocess.run(
        run, input=yaml.safe_dump(settings), env=cluster.environment(), capture_output=True, text=True, timeout=100
    )
    assert 0 == done.returncode, done.stderr
    cluster.kubectl("create", "namespace", namespace)
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    cluster.apply(*manifest.for_agents(namespace, secrets=("hpc-token",), targets=(), operator=HERE))
    token = f"--from-literal=token={slurm_2605_dbd.token()}"
    cluster.kubectl("-n", namespace, "create", "secret", "generic", "hpc-token", token)
    where = cluster.lend(slurm_2605_dbd.ports.rest)
    cluster.apply(
        {
            "apiVersion": "bascule.dev/v1alpha1",
            "kind": "BridgeTarget",
            "metadata": {"name": "hpc", "namespace": namespace},
            "spec": {
                "manager": "slurm",
                "url": f"http://{where}",
                "credentials": {"user": slurm_2605_dbd.user, "secret": {"name": "hpc-token", "from": "JobNamespace"}},
                "network": {"allow": [f"{where.partition(':')[0]}/32"], "plaintext": True},
                "limits": {"pollInterval": "1s"},
                "mirror": "Isolated",
            },
        }
    )
    cluster.kubectl("-n", HERE, "rollout", "status", "deployment/bascule-operator", "--timeout=90s", within=100)
    return Town(cluster, slurm_2605_dbd, namespace)


@pytest.mark.timeout(600)
def test_a_node_and_the_operator_die_and_one_job_ran_once(town):
    first, second = town.cluster.nodes  # the first one has the control plane's network
    town.cluster.kubectl("cordon", first)
    town.submit("train", "#!/bin/sh\nsleep 45\nexit 3\n")
    town.submit("other", "#!/bin/sh\nsleep 600\n")
    town.until_phase("train", "Running")
    town.until_phase("other", "Running")
    uid = town.pod("train")["metadata"]["uid"]
    town.cluster.kubectl("uncordon", first)
    [[other, _, _]] = town.outside("other")

    town.cluster.kill_node(second)
    town.cluster.kubectl("-n", HERE, "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
    town.kubectl("delete", "bridgejob", "other", "--wait=false")

    until(lambda: town.pod("train").get("metadata", {}).get("uid") not in {None, uid}, "another pod", within=200)
    town.until_phase("train", "Failed", within=200)
    assert 3 == town.job("train")["status"]["exitCode"]
    [[_, state, code]] = town.outside("train")
    assert ("FAILED", "3:0") == (state, code)
    until(lambda: not town.job("other"), "the deleted job to be gone", within=120)
    row = town.slurm.run("sacct", "-X", "-n", "-P", "-o", "State", "-j", other)
    assert row.startswith("CANCELLED")
