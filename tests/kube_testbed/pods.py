"""Pods that only have to do something, and what became of them."""

from typing import Any

from tests.testbed.kube import KubeCluster
from tests.testbed.kube_parts import SHELL_IMAGE
from tests.testbed.slurm_daemons import wait_until

LONG = 60
"""Seconds that a pod has to come so far, on a machine that does much else."""


def pod(namespace: str, name: str, script: str, **spec: Any) -> dict[str, Any]:
    """Return a pod that runs *script* once; *spec* adds to it."""
    container = {"name": "main", "image": SHELL_IMAGE, "imagePullPolicy": "Never", "args": ["-c", script]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "containers": [container],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            **spec,
        },
    }


def phase(cluster: KubeCluster, namespace: str, name: str) -> str:
    found = cluster.rest.get(f"/api/v1/namespaces/{namespace}/pods/{name}")
    return found["status"].get("phase", "") if found else "gone"


def wait_for(cluster: KubeCluster, namespace: str, name: str, *phases: str, within: float = LONG) -> None:
    what = f"pod {name} to be {' or '.join(phases)}"
    wait_until(lambda: phase(cluster, namespace, name) in phases, what, within=within)
