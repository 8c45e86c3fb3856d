"""A namespace is deleted under live jobs: they are cancelled, or it is said how to let them go."""

from __future__ import annotations

import pytest

from bascule.platforms.kubernetes import manifest
from tests.operator.world import HERE, LAB, job, records_of, secret, target, until

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def town(kube, hpc, namespace):
    """A namespace with a Secret, a target and a job of its own, whose Secret and target go with it."""
    kube.kubectl("create", "namespace", namespace)
    kube.apply(*manifest.for_operator(namespace, secrets=("hpc-token",), operator=HERE))
    kube.apply(secret("hpc-token", namespace, token=hpc.token()), target(hpc, namespace))
    yield namespace
    for kind in ("bj", "bt"):
        for name in kube.kubectl("get", kind, "-n", namespace, "-o", "name").split():
            kube.kubectl("patch", name, "-n", namespace, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    kube.kubectl("delete", "namespace", namespace, "--ignore-not-found", "--timeout=80s")


def test_its_jobs_are_cancelled_though_its_secret_and_its_target_go_first(kube, hpc, town):
    """
    And so is one that uses a target of another namespace.
    """
    kube.operator()
    kube.apply(target(hpc, allowedNamespaces={"from": "All"}))
    kube.apply(job("one", hpc, "sleep 600", town), job("two", hpc, "sleep 600", town))
    kube.apply(job("stranger", hpc, "sleep 600", town, target={"name": "hpc", "namespace": LAB}))
    names = ("one", "two", "stranger")
    for name in names:
        until(lambda name=name: kube.phase(name, town) == "Running", f"{name} runs")

    kube.kubectl("delete", "namespace", town, "--timeout=80s")

    assert ["CANCELLED"] * 3 == [record.state.split()[0] for name in names for record in records_of(hpc, name)]


def test_where_nothing_is_left_to_cancel_with_it_says_how_to_let_go(kube, hpc, town):
    """
    No operator was there when the Secret and the target went.
    """
    first = kube.operator()
    kube.apply(job("stuck", hpc, "sleep 600", town))
    until(lambda: kube.phase("stuck", town) == "Running", "it runs")
    first.kill()
    kube.expire_lease()
    kube.kubectl("delete", "namespace", town, "--wait=false")
    until(lambda: not kube.get("bt", "hpc", town) and not kube.get("secret", "hpc-token", town), "they are gone")

    kube.operator()

    until(lambda: "bascule.dev/abandon=true" in kube.status("stuck", town).get("message", ""), "it says how")
    kube.kubectl("annotate", "bj", "stuck", "-n", town, "bascule.dev/abandon=true")
    kube.kubectl("wait", "--for=delete", f"namespace/{town}", "--timeout=80s")
    [record] = records_of(hpc, "stuck")
    assert "RUNNING" == record.state
    hpc.run("scancel", record.id)
