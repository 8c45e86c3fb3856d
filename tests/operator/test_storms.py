"""Somebody writes as fast as they can, definitions change: jobs go on, and little is written."""

from __future__ import annotations

import asyncio
import copy
import threading
import time

import pytest
import yaml

from bascule.clients.kube import KubeClient, access_from_environment
from bascule.clients.kube.client import MERGE
from bascule.errors import Error
from bascule.platforms.kubernetes.crds import crds
from tests.operator.world import job, records_of, target, until

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

JOBS = "/apis/bascule.dev/v1alpha1/namespaces/lab/bridgejobs"
A_SECOND = 200


class Storm:
    """Somebody who changes an annotation of each of *names*, in turn, until told to stop."""

    def __init__(self, kubeconfig, names):
        self._access = access_from_environment(str(kubeconfig))
        self._names = names
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._blow()))
        self.writes = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    async def _blow(self):
        async with KubeClient(self._access) as client, asyncio.TaskGroup() as tasks:
            for hand in range(4):
                tasks.create_task(self._write(client, hand))

    async def _write(self, client, hand):
        began, turn = time.monotonic(), 0
        while not self._over.is_set():
            name = self._names[(hand + turn) % len(self._names)]
            change = {"metadata": {"annotations": {"storm": f"{hand}-{turn}"}}}
            try:
                await client.patch(f"{JOBS}/{name}", change, kind=MERGE)
                self.writes += 1
            except Error:  # the job is gone, or the server has no time
                pass
            turn += 1
            await asyncio.sleep(max(0.0, began + turn * 4 / A_SECOND - time.monotonic()))


def test_a_storm_of_conflicts_keeps_no_job_from_its_end(kube, hpc, control_plane):
    names = [f"storm-{number}" for number in range(3)]
    kube.operator()
    before = len(list(control_plane.requests()))
    with Storm(kube.kubeconfig, names) as storm:
        kube.apply(*(job(name, hpc, "sleep 3") for name in names))
        for name in names:
            until(lambda name=name: kube.phase(name) == "Succeeded", f"{name} succeeds")

    assert [1, 1, 1] == [len(records_of(hpc, name)) for name in names]
    written = [each for each in list(control_plane.requests())[before:] if is_status_write(each)]
    stored = [each for each in written if each["responseStatus"]["code"] == 200]
    assert storm.writes > 200
    assert len(stored) <= 10 * len(names), len(stored)
    assert len(written) <= storm.writes / 2, (len(written), storm.writes)


def is_status_write(request):
    reference = request.get("objectRef", {})
    return (
        request["verb"] in {"update", "patch"}
        and reference.get("resource") == "bridgejobs"
        and reference.get("subresource") == "status"
        and request["stage"] == "ResponseComplete"
    )


def test_definitions_that_are_renewed_stop_no_job(kube, hpc):
    """
    As an upgrade does it, with a field and a column that this operator does not know; and back.
    """
    operator = kube.operator()
    kube.apply(job("during", hpc, "sleep 6"))
    until(lambda: kube.phase("during") == "Running", "it runs")

    kube.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=yaml.safe_dump_all(renewed()))
    try:
        until(lambda: "FLAVOUR" in kube.kubectl("get", "bj"), "the new column is shown")
        kube.apply(job("after", hpc, "true"), job("new", hpc, "true", flavour="sweet"))

        for name in ("during", "after"):
            until(lambda name=name: kube.phase(name) == "Succeeded", f"{name} succeeds")
        until(lambda: "flavour" in kube.status("new").get("message", ""), "what is not known is named")
        assert "NotAccepted" == kube.status("new")["reason"]
        assert operator.lives
        assert [1, 1, 0] == [len(records_of(hpc, name)) for name in ("during", "after", "new")]
    finally:
        kube.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=yaml.safe_dump_all(crds()))
        until(lambda: served(kube), "the definitions are served")


def renewed():
    """Return the definitions as a later version may have them."""
    definitions = copy.deepcopy(crds())
    [version] = definitions[0]["spec"]["versions"]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["flavour"] = {"type": "string"}
    column = {"name": "Flavour", "type": "string", "jsonPath": ".spec.flavour"}
    version["additionalPrinterColumns"] = [*version["additionalPrinterColumns"], column]
    return definitions


def test_definitions_that_are_deleted_cancel_all_jobs_before_they_go(kube, hpc):
    """
    To Kubernetes it is the deletion of every object; what comes after begins anew.
    """
    operator = kube.operator()
    kube.apply(job("gone", hpc, "sleep 600"))
    until(lambda: kube.phase("gone") == "Running", "it runs")

    try:
        kube.kubectl("delete", "crd", "bridgetargets.bascule.dev", "bridgejobs.bascule.dev", "--timeout=60s")
        until(lambda: records_of(hpc, "gone")[0].state.startswith("CANCELLED"), "Slurm says so")
    finally:
        kube.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=yaml.safe_dump_all(crds()))
        names = [each["metadata"]["name"] for each in crds()]
        kube.kubectl("wait", "--for=condition=Established", "--timeout=60s", *(f"crd/{name}" for name in names))

    until(lambda: served(kube), "the definitions are served again")
    kube.apply(target(hpc), job("again", hpc, "true"))
    until(lambda: kube.phase("again") == "Succeeded", "what is made then runs")
    assert operator.lives
    assert [1, 1] == [len(records_of(hpc, name)) for name in ("gone", "again")]


def served(kube):
    """Tell whether both kinds are served; the API server takes a moment for it, and refuses meanwhile."""
    try:
        kube.kubectl("get", "bj,bt", "-A")
    except AssertionError:
        return False
    return True
