"""What the operator may do is what the chart grants, for all namespaces or for one; the policies keep others out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from bascule.platforms.kubernetes import manifest
from tests.deploy.installing import rights
from tests.operator.world import LIE, job, records_of, secret, target, until

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

CHART = Path(__file__).resolve().parents[2] / "deploy" / "chart"
OPERATOR = "system:serviceaccount:bascule-system:bascule-operator"
SINGLE, SOLE = "single-system", "sole-lab"


@pytest.fixture
def single(kube, helm) -> Path:
    """The kubeconfig of an operator that was installed for one namespace alone; its policies hold there."""
    settings = f"watch.namespace={SOLE},rbac.aggregate=false,namespace.create=true"
    command = [str(helm), "template", "single", str(CHART), "--namespace", SINGLE, "--set", settings]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rendered = [each for each in yaml.safe_load_all(done.stdout) if each]
    granted = rights(rendered)
    assert {"Namespace", "ServiceAccount", "Role", "RoleBinding"} == {each["kind"] for each in granted}
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SOLE}})
    kube.apply(*granted, *(each for each in rendered if each["kind"].startswith("ValidatingAdmissionPolicy")))
    kube.apply(*manifest.for_operator(SOLE, secrets=("hpc-token",), operator=SINGLE))
    return kube.kubeconfig_of_account(SINGLE, "bascule-operator")


def test_with_the_rights_in_one_namespace_its_jobs_are_moved_and_no_others(kube, hpc, single):
    operator = kube.operator(f"--namespace={SINGLE}", f"--watch-namespace={SOLE}", kubeconfig=single)
    kube.apply(secret("hpc-token", SOLE, token=hpc.token()), target(hpc, SOLE), job("strange", hpc, "true"))
    kube.apply(job("ours", hpc, "exit 4", SOLE), job("long", hpc, "sleep 600", SOLE))

    until(lambda: kube.phase("ours", SOLE) == "Failed", "ours comes to its end")
    until(lambda: kube.phase("long", SOLE) == "Running", "the long one runs")
    kube.kubectl("delete", "bj", "long", "-n", SOLE, "--timeout=60s")

    status = kube.status("ours", SOLE)
    assert (4, "ExitCode") == (status["exitCode"], status["reason"])
    assert "Submitted" in kube.kubectl("describe", "bj", "ours", "-n", SOLE)
    assert [1, 1, 0] == [len(records_of(hpc, name)) for name in ("ours", "long", "strange")]
    assert not kube.status("strange")
    assert "(403)" not in operator.said


def test_for_all_namespaces_nothing_is_asked_that_is_not_granted(kube, hpc, control_plane):
    """
    A right that is missing would be in the log, or in the API server's own.
    """
    asked_before = len(list(control_plane.requests(OPERATOR)))
    operator = kube.operator()
    kube.apply(job("short", hpc, "true"), job("long", hpc, "sleep 600"))
    until(lambda: kube.phase("short") == "Succeeded", "short succeeds")
    until(lambda: kube.phase("long") == "Running", "long runs")
    kube.kubectl("patch", "bj", "long", "--type=merge", "-p", '{"spec":{"hold":true}}')
    kube.kubectl("delete", "bj", "long", "--timeout=60s")

    asked = list(control_plane.requests(OPERATOR))[asked_before:]

    assert asked
    assert not [event["requestURI"] for event in asked if event.get("responseStatus", {}).get("code") == 403]
    assert "(403)" not in operator.said


def test_nobody_else_writes_a_status(kube, hpc):
    kube.apply(job("mine", hpc, "true"))

    def refusal() -> str:
        try:
            kube.kubectl("patch", "bj", "mine", "--subresource=status", "--type=merge", "-p", LIE)
        except AssertionError as refused:
            return str(refused)
        return ""

    until(lambda: "a status is written by Bascule only" in refusal(), "the policy is in force")
