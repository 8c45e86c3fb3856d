"""What fails in a cluster fails as in one in earnest."""

import select
import shlex
import subprocess

import pytest

from tests.kube_testbed.pods import LONG, phase, pod, wait_for
from tests.testbed.kube import KubeCluster, KubeSpec
from tests.testbed.kube_switch import Switch
from tests.testbed.slurm_daemons import wait_until

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

IMPATIENT = [
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
    for what in ("not-ready", "unreachable")
]


@pytest.fixture(scope="module")
def own():
    """
    A cluster that these tests break, and that no other shares.
    """
    with KubeCluster(KubeSpec(nodes=2, node_grace=10)) as cluster:
        yield cluster


def marker(cluster: KubeCluster, name: str) -> bool:
    return any(name in line for line in cluster.processes())


def turn(cluster: KubeCluster, *asked: str) -> str:
    """Do to a node what a person at a shell does."""
    with Switch(cluster) as switch:
        variable = {"NODES": shlex.join(switch.command)}
        typed = ["sh", "-c", f"$NODES {' '.join(asked)}"]
        return subprocess.run(typed, env=variable, check=True, capture_output=True, text=True).stdout


def test_the_api_server_and_its_store_may_die_while_pods_run(own):
    own.apply(pod("default", "steady", "while :; do sleep 1; done"))
    wait_for(own, "default", "steady", "Running")

    own.restart("etcd")
    own.restart("kube-apiserver")

    assert "Running" == phase(own, "default", "steady")
    own.wait_for_nodes(*own.nodes)
    own.apply(pod("default", "after", "true"))
    wait_for(own, "default", "after", "Succeeded")
    own.kubectl("delete", "pod", "steady", "after", "--force", "--grace-period=0")


def test_a_frozen_way_in_drops_a_watch_silently(own):
    """
    The connection of a watch stays, and nothing comes.
    """
    line = own.kubectl_line(
        "get", "configmaps", "--watch", "--output-watch-events", "--no-headers", "-n", "kube-public"
    )
    with subprocess.Popen(line, env=own.environment(), stdout=subprocess.PIPE, text=True) as watching:
        try:
            assert watching.stdout is not None
            assert "kube-root-ca.crt" in watching.stdout.readline()
            own.freeze("relay.api")
            name = own.kubectl_line("create", "configmap", "quiet", "-n", "kube-public")
            line = own.inside(*name, "--kubeconfig", str(own.kubeconfig_inside))
            subprocess.run(line, check=True, capture_output=True, timeout=30)
            assert not select.select([watching.stdout], [], [], 1)[0]
            assert watching.poll() is None
            own.thaw("relay.api")

            assert "quiet" in watching.stdout.readline()
        finally:
            own.thaw("relay.api")
            watching.kill()


def test_a_killed_node_loses_its_pods_and_comes_back(own):
    own.apply(pod("default", "doomed", "exec sleep 98765", nodeName="node-1", tolerations=IMPATIENT))
    wait_for(own, "default", "doomed", "Running")
    assert marker(own, "sleep 98765")

    turn(own, "kill", "node-1")

    assert not marker(own, "sleep 98765")
    assert [] == own.processes("node-1")
    evicted = "/api/v1/namespaces/default/pods/doomed"
    wait_until(lambda: "deletionTimestamp" in own.rest.get(evicted)["metadata"], "the pod to be evicted", within=LONG)
    turn(own, "start", "node-1")
    wait_until(lambda: phase(own, "default", "doomed") == "gone", "the evicted pod to go", within=LONG)


def test_a_node_that_is_cut_off_runs_on_and_is_taken_for_dead(own):
    own.apply(pod("default", "unheard", "exec sleep 87654", nodeName="node-2"))
    wait_for(own, "default", "unheard", "Running")

    own.cut_node("node-2")

    def is_unknown() -> bool:
        conditions = own.rest.get("/api/v1/nodes/node-2")["status"]["conditions"]
        return any(one["type"] == "Ready" and one["status"] == "Unknown" for one in conditions)

    wait_until(is_unknown, "the node to be taken for dead", within=LONG)
    assert marker(own, "sleep 87654")
    own.mend_node("node-2")
    assert "Running" == phase(own, "default", "unheard")
    own.kubectl("delete", "pod", "unheard", "--force", "--grace-period=0")


def test_a_switch_that_is_not_there_is_not_turned(own):
    with pytest.raises(subprocess.CalledProcessError) as refusal:
        turn(own, "kill", "node-9")

    assert "say `kill` or `start`, and one of node-1, node-2\n" == refusal.value.stdout
    own.wait_for_nodes(*own.nodes)
