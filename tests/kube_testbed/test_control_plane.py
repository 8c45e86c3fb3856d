"""A control plane without nodes: a real API server, for everything that is about objects."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testbed.kube import KubeCluster, KubeSpec
from tests.testbed.kube_parts import KUBERNETES_VERSION
from tests.testbed.kube_rest import ApiRefused
from tests.testbed.machine import CACHE
from tests.testbed.slurm_daemons import CommandFailed, wait_until

pytestmark = [pytest.mark.real, pytest.mark.root]

ROOT = Path(__file__).parents[2]

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.lab.test"},
    "spec": {
        "group": "lab.test",
        "names": {"kind": "Thing", "plural": "things"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is frozen"}],
                                "properties": {"size": {"type": "integer"}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


def config_map(namespace: str, name: str, **data: str) -> dict[str, object]:
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture
def room(control_plane, namespace) -> str:
    control_plane.kubectl("create", "namespace", namespace)
    return namespace


def test_it_is_the_version_that_the_programs_are_pinned_to(control_plane):
    assert KUBERNETES_VERSION == control_plane.rest.get("/version")["gitVersion"]


def test_it_trusts_nobody_without_a_name(control_plane):
    stranger = control_plane.kubeconfig_of("nobody")

    with pytest.raises(CommandFailed, match='User "nobody" cannot list resource "secrets"'):
        control_plane.kubectl("--kubeconfig", str(stranger), "get", "secrets")


def test_a_person_may_what_rbac_says(control_plane, room):
    binding = ("rolebinding", "ada", "--clusterrole=view", "--user=ada", "--namespace", room)
    control_plane.kubectl("create", *binding)
    ada = str(control_plane.kubeconfig_of("ada", "people"))

    assert "" == control_plane.kubectl("--kubeconfig", ada, "get", "pods", "-n", room)
    with pytest.raises(CommandFailed, match="cannot list"):
        control_plane.kubectl("--kubeconfig", ada, "get", "pods", "-n", "kube-system")


def test_its_schemas_and_rules_hold(control_plane, namespace):
    control_plane.apply(CRD)
    control_plane.kubectl("wait", "--for=condition=Established", "crd/things.lab.test")
    control_plane.kubectl("create", "namespace", namespace)
    thing = {"apiVersion": "lab.test/v1", "kind": "Thing", "metadata": {"namespace": namespace, "name": "one"}}
    control_plane.apply({**thing, "spec": {"size": 1}})

    with pytest.raises(CommandFailed, match="is frozen"):
        control_plane.apply({**thing, "spec": {"size": 2}})
    with pytest.raises(CommandFailed, match="must be of type integer"):
        control_plane.apply({**thing, "spec": {"size": "large"}})
    control_plane.kubectl("delete", "crd", "things.lab.test")


def test_its_controllers_work(control_plane, room):
    """
    Owned objects go with their owner, and a namespace with all that is in it.
    """
    owner = control_plane.rest.call("POST", f"/api/v1/namespaces/{room}/configmaps", config_map(room, "owner"))
    owned = config_map(room, "owned")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    control_plane.apply({**owned, "metadata": {**owned["metadata"], "ownerReferences": [reference]}})

    control_plane.kubectl("delete", "configmap", "owner", "-n", room)
    path = f"/api/v1/namespaces/{room}/configmaps/owned"
    wait_until(lambda: control_plane.rest.get(path) is None, "the owned object to go", within=60)
    control_plane.kubectl("delete", "namespace", room, "--wait=false")
    wait_until(lambda: control_plane.rest.get(f"/api/v1/namespaces/{room}") is None, "the namespace to go", within=60)


def test_what_was_asked_is_written_down(control_plane, room):
    ada = control_plane.kubeconfig_of("ada-who-asks", "system:masters")

    control_plane.kubectl("--kubeconfig", str(ada), "get", "configmap", "kube-root-ca.crt", "-n", room)

    def asked():
        found = [one for one in control_plane.requests("ada-who-asks") if one["objectRef"]["resource"] == "configmaps"]
        return [(one["verb"], one["objectRef"]["namespace"]) for one in found]

    # It is written down once it is answered.
    wait_until(asked, "a line in the audit log", within=30)
    assert [("get", room)] == asked()


def test_a_write_with_an_old_version_is_refused(control_plane, room):
    path = f"/api/v1/namespaces/{room}/configmaps"
    first = control_plane.rest.call("POST", path, config_map(room, "shared", by="one"))
    control_plane.rest.call("PUT", f"{path}/shared", {**first, "data": {"by": "two"}})

    with pytest.raises(ApiRefused) as refusal:
        control_plane.rest.call("PUT", f"{path}/shared", {**first, "data": {"by": "three"}})

    assert 409 == refusal.value.status


@pytest.fixture(scope="module")
def own() -> Iterator[KubeCluster]:
    """
    A control plane that the tests of faults break, and that no other shares.
    """
    with KubeCluster(KubeSpec(nodes=0)) as cluster:
        yield cluster


@pytest.mark.timeout(300)
class TestFaults:
    @pytest.mark.parametrize("program", ["kube-apiserver", "etcd"])
    def test_killed_and_started_again_it_knows_what_it_knew(self, own, program):
        own.apply(config_map("default", f"before-{program}", known="yes"))

        own.kill(program)
        # It asks its store now and then, and for that long says that it is well.
        wait_until(lambda: not own.control.is_ready(), "the API server to say so", within=60)
        own.start_again(program)

        found = own.rest.get(f"/api/v1/namespaces/default/configmaps/before-{program}")
        assert {"known": "yes"} == found["data"]

    def test_frozen_it_is_silent_and_thawed_it_answers(self, own):
        own.freeze("kube-apiserver")
        with pytest.raises(OSError, match="timed out"):
            urllib.request.urlopen(f"{own.url}/readyz", timeout=1, context=own.rest.trust)
        own.thaw("kube-apiserver")

        wait_until(own.control.is_ready, "the API server to answer", within=60)


def test_two_may_run_at_once(control_plane, start_kube):
    other = start_kube(KubeSpec(nodes=0, api_options=("--max-requests-inflight=50",)))

    assert other.url != control_plane.url
    assert "default" in json.dumps(other.rest.get("/api/v1/namespaces"))


def test_by_hand_a_command_finds_it_with_kubectl_and_helm(control_plane, helm):
    line = [
        sys.executable,
        "-m",
        "tests.testbed",
        "kube",
        "--nodes",
        "0",
        "sh",
        "-c",
        "helm list -A && kubectl get ns -o name",
    ]
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(CACHE.parent)}

    done = subprocess.run(line, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=90)

    assert 0 == done.returncode, done.stderr
    assert "NAMESPACE" in done.stdout
    assert "namespace/default\n" in done.stdout
