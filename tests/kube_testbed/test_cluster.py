"""A cluster with nodes: pods run, are heard, find each other, and reach what lies outside."""

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.kube_testbed.pods import LONG, phase, pod, wait_for
from tests.testbed.kube_conf import OUTSIDE_NAME
from tests.testbed.slurm_daemons import wait_until

pytestmark = [pytest.mark.real, pytest.mark.root]


@pytest.fixture
def room(kube_cluster, namespace) -> Iterator[str]:
    kube_cluster.kubectl("create", "namespace", namespace)
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
    wait_until(lambda: kube_cluster.rest.get(account) is not None, "the service account", within=LONG)
    yield namespace
    kube_cluster.kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def page() -> Iterator[int]:
    """
    A server on this machine's loopback, as a resource manager's; gives the port.
    """

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"from outside\n")

        def log_message(self, *parts: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_a_pod_runs_on_each_node_and_is_known_by_its_end(kube_cluster, room):
    for node in kube_cluster.nodes:
        kube_cluster.apply(pod(room, f"on-{node}", "echo it failed >/dev/termination-log; exit 3", nodeName=node))

    for node in kube_cluster.nodes:
        wait_for(kube_cluster, room, f"on-{node}", "Failed")
        found = kube_cluster.rest.get(f"/api/v1/namespaces/{room}/pods/on-{node}")["status"]
        ended = found["containerStatuses"][0]["state"]["terminated"]
        assert (3, "it failed\n") == (ended["exitCode"], ended["message"])


def test_its_output_is_heard_while_it_runs(kube_cluster, room):
    kube_cluster.apply(pod(room, "talker", "for n in 1 2 3; do echo line $n; sleep 1; done"))
    wait_for(kube_cluster, room, "talker", "Running", "Succeeded")

    line = kube_cluster.kubectl_line("logs", "--follow", "talker", "-n", room)
    with subprocess.Popen(line, env=kube_cluster.environment(), stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert "line 1\n" == following.stdout.readline()
        was = phase(kube_cluster, room, "talker")
        heard = following.stdout.read()

    assert ("Running", "line 2\nline 3\n") == (was, heard)


def test_a_command_runs_in_it_and_the_restricted_rules_are_no_hindrance(kube_cluster, room):
    kube_cluster.kubectl("label", "namespace", room, "pod-security.kubernetes.io/enforce=restricted")
    strict = {
        "runAsNonRoot": True,
        "runAsUser": 65534,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    modest = pod(room, "modest", "sleep 600")
    modest["spec"]["containers"][0]["securityContext"] = strict
    kube_cluster.apply(modest)
    wait_for(kube_cluster, room, "modest", "Running")

    assert "65534\n" == kube_cluster.kubectl("exec", "modest", "-n", room, "--", "id", "-u")
    assert "no" == kube_cluster.kubectl(
        "exec", "modest", "-n", room, "--", "sh", "-c", "touch /x 2>/dev/null || echo -n no"
    )


def test_pods_reach_the_api_server_by_its_service_and_its_name(kube_cluster, room):
    script = (
        "cd /var/run/secrets/kubernetes.io/serviceaccount; nslookup kubernetes.default.svc.cluster.local"
        " && test -s token && nc -w 5 kubernetes.default.svc.cluster.local 443 </dev/null && echo reached"
    )
    kube_cluster.apply(pod(room, "asker", script))
    wait_for(kube_cluster, room, "asker", "Succeeded", "Failed")

    assert "reached" in kube_cluster.kubectl("logs", "asker", "-n", room)


def test_pods_on_two_nodes_reach_each_other(kube_cluster, room):
    first, second = kube_cluster.nodes
    kube_cluster.apply(pod(room, "server", "while :; do echo hello | nc -l -p 8080; done", nodeName=first))
    wait_for(kube_cluster, room, "server", "Running")
    address = kube_cluster.rest.get(f"/api/v1/namespaces/{room}/pods/server")["status"]["podIP"]
    client = f"for n in 1 2 3 4 5; do nc -w 5 {address} 8080 </dev/null && exit; sleep 1; done; exit 1"
    kube_cluster.apply(pod(room, "client", client, nodeName=second))
    wait_for(kube_cluster, room, "client", "Succeeded", "Failed")

    assert "hello\n" == kube_cluster.kubectl("logs", "client", "-n", room)


def test_what_is_lent_is_reached_by_pods_under_an_address_and_a_name(kube_cluster, room, page):
    there = kube_cluster.lend(page)
    port = there.rpartition(":")[2]
    script = f"wget -q -O - http://{there}/; wget -q -O - http://{OUTSIDE_NAME}:{port}/"
    kube_cluster.apply(pod(room, "visitor", script))
    wait_for(kube_cluster, room, "visitor", "Succeeded", "Failed")

    assert "from outside\nfrom outside\n" == kube_cluster.kubectl("logs", "visitor", "-n", room)


def test_real_slurm_is_reached_by_pods(kube_cluster, room, slurm_2605):
    there = kube_cluster.lend(slurm_2605.ports.rest)
    version = slurm_2605.rest_versions[-1]
    headers = f'--header "X-SLURM-USER-NAME: {slurm_2605.user}" --header "X-SLURM-USER-TOKEN: {slurm_2605.token()}"'
    kube_cluster.apply(pod(room, "pinger", f"wget -q -O - {headers} http://{there}/slurm/{version}/ping"))
    wait_for(kube_cluster, room, "pinger", "Succeeded", "Failed")

    (ping,) = json.loads(kube_cluster.kubectl("logs", "pinger", "-n", room))["pings"]
    assert ping["responding"]


def test_a_program_of_this_machine_can_be_run_in_its_network(kube_cluster, page):
    there = kube_cluster.lend(page)
    ask = f"import urllib.request; print(urllib.request.urlopen('http://{there}/').read().decode())"
    line = kube_cluster.inside(sys.executable, "-c", ask)

    assert "from outside\n\n" == subprocess.run(line, capture_output=True, text=True, check=True).stdout
    kubectl = kube_cluster.inside(
        *kube_cluster.kubectl_line("--kubeconfig", str(kube_cluster.kubeconfig_inside), "get", "nodes", "-o", "name")
    )
    assert "node/node-1\nnode/node-2\n" == subprocess.run(kubectl, capture_output=True, text=True, check=True).stdout
