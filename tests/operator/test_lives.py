"""A job's life on Kubernetes: applied, run once on real Slurm, mirrored, cancelled by its deletion."""

from __future__ import annotations

import pytest

from tests.operator.world import job, records_of, until

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]


def test_an_applied_job_runs_once_and_its_status_tells(kube, hpc):
    kube.operator()

    kube.apply(job("train", hpc, "echo hello; exit 3"))

    until(lambda: kube.phase("train") == "Failed", "train fails")
    status = kube.status("train")
    [record] = records_of(hpc, "train")
    assert (3, "ExitCode", record.id) == (status["exitCode"], status["reason"], status["id"])
    assert kube.job("train")["metadata"]["generation"] == status["observedGeneration"]
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert {"Accepted": "True", "Submitted": "True", "Complete": "False", "Failed": "True"} == conditions
    assert "Submitted" in kube.kubectl("describe", "bridgejob", "train")


def test_wait_for_complete_means_success(kube, hpc):
    kube.operator()

    kube.apply(job("good", hpc, "true"))

    kube.kubectl("wait", "bridgejob/good", "--for=condition=Complete", "--timeout=60s")
    assert "good" in kube.kubectl("get", "bj")


def test_deleting_a_job_cancels_it_and_waits_for_that(kube, hpc):
    kube.operator()
    kube.apply(job("long", hpc, "sleep 600"))
    until(lambda: kube.phase("long") == "Running", "long runs")

    kube.kubectl("delete", "bridgejob", "long", "--timeout=60s")

    [record] = records_of(hpc, "long")
    until(lambda: records_of(hpc, "long")[0].state.startswith("CANCELLED"), "Slurm says so")
    assert record
