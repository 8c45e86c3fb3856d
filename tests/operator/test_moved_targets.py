"""Targets that change or go under live jobs: none is taken for lost, none is submitted twice."""

from __future__ import annotations

import pytest

from tests.operator.world import job, records_of, target, until

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

SOON = {"settleSeconds": 2}


def test_an_address_of_another_cluster_is_no_news_about_a_job(kube, hpc, slurm_2411_dbd):
    """
    There the job is unknown, and its id may be another's: it is neither lost nor cancelled there.
    """
    kube.operator()
    kube.apply(target(hpc, options=SOON))
    retry = {"limit": 2, "reasons": ["Lost"]}
    kube.apply(job("moved", hpc, "sleep 12", retry=retry), job("dropped", hpc, "sleep 600", retry=retry))
    for name in ("moved", "dropped"):
        until(lambda name=name: kube.phase(name) == "Running", f"{name} runs")

    kube.apply(target(slurm_2411_dbd, options=SOON))
    kube.put_secret("hpc-token", token=slurm_2411_dbd.token())
    kube.kubectl("delete", "bj", "dropped", "--wait=false")

    until(lambda: "another address" in kube.status("moved")["message"], "it says what is wrong")
    assert "Unknown" == kube.phase("moved")
    until(lambda: "bascule.dev/abandon" in kube.status("dropped")["message"], "it says what can be done")
    kube.put_secret("hpc-token", token=hpc.token())
    kube.apply(target(hpc, options=SOON))
    until(lambda: not kube.job("dropped"), "the deleted one is cancelled where it is")
    until(lambda: kube.phase("moved") == "Succeeded", "the other is followed to its end")
    assert ["COMPLETED"] == [record.state for record in records_of(hpc, "moved")]
    assert ["CANCELLED"] == [record.state.split()[0] for record in records_of(hpc, "dropped")]
    assert [[], []] == [records_of(slurm_2411_dbd, name) for name in ("moved", "dropped")]


def test_another_address_of_the_same_cluster_is_taken_up(kube, hpc):
    kube.operator()
    kube.apply(job("followed", hpc, "sleep 6"))
    until(lambda: kube.phase("followed") == "Running", "it runs")

    kube.apply(
        target(hpc, url=hpc.url.replace("127.0.0.1", "localhost"), limits={"activeJobs": 1, "pollInterval": "2s"})
    )

    until(lambda: kube.phase("followed") == "Succeeded", "it is followed to its end")
    assert 1 == len(records_of(hpc, "followed"))


def test_a_target_that_is_deleted_under_a_job_and_made_again_is_used_on(kube, hpc):
    kube.operator()
    kube.apply(target(hpc, options=SOON), job("kept", hpc, "sleep 4"))
    until(lambda: kube.phase("kept") == "Running", "it runs")

    kube.kubectl("delete", "bt", "hpc")

    until(lambda: "there is no target" in kube.status("kept")["message"], "it says what is missing")
    until(lambda: records_of(hpc, "kept")[0].state == "COMPLETED", "it ends meanwhile")
    kube.apply(target(hpc, options=SOON))
    until(lambda: kube.phase("kept") == "Succeeded", "its end is seen")
    assert 1 == len(records_of(hpc, "kept"))


def test_a_job_that_is_deleted_together_with_its_target_is_cancelled(kube, hpc):
    kube.operator()
    kube.apply(job("both", hpc, "sleep 600"))
    until(lambda: kube.phase("both") == "Running", "it runs")

    kube.kubectl("delete", "bt/hpc", "bj/both", "--timeout=60s")

    until(lambda: records_of(hpc, "both")[0].state.startswith("CANCELLED"), "Slurm says so")


def test_one_that_nobody_can_cancel_says_how_to_let_it_go(kube, hpc):
    first = kube.operator()
    kube.apply(job("stuck", hpc, "sleep 600"))
    until(lambda: kube.phase("stuck") == "Running", "it runs")
    first.stop()
    kube.kubectl("delete", "bt/hpc", "bj/stuck", "--wait=false")

    kube.operator()

    until(lambda: "bascule.dev/abandon" in kube.status("stuck")["message"], "it says what can be done")
    kube.apply(target(hpc))
    until(lambda: not kube.job("stuck"), "it is cancelled once there is a target again")
    until(lambda: records_of(hpc, "stuck")[0].state.startswith("CANCELLED"), "Slurm says so")


def test_credentials_of_somebody_else_lose_nothing(kube, hpc):
    """
    Another user may not see the job, and an empty list is no end.
    """
    kube.operator()
    kube.apply(target(hpc, options=SOON), job("mine", hpc, "sleep 5", retry={"limit": 2, "reasons": ["Lost"]}))
    until(lambda: kube.phase("mine") == "Running", "it runs")

    kube.put_secret("hpc-token", token=hpc.token("root"))
    kube.apply(target(hpc, options=SOON, credentials={"user": "root", "secret": {"name": "hpc-token"}}))
    until(lambda: records_of(hpc, "mine")[0].state == "COMPLETED", "it ends meanwhile")
    kube.put_secret("hpc-token", token=hpc.token())
    kube.apply(target(hpc, options=SOON))

    until(lambda: kube.phase("mine") == "Succeeded", "its own end is seen")
    assert 1 == len(records_of(hpc, "mine"))
