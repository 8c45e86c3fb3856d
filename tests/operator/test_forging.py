"""What people write that is not theirs to write: no second run, and in the end a status that is true."""

from __future__ import annotations

import json

import pytest

from tests.operator.world import LAB, OPEN, records_of, target, until
from tests.operator.world import job as job_in

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

# None is cut out by a merge patch.
FORGERIES = {
    "record lost": {"record": None},
    "all but the attempt lost": {
        **dict.fromkeys(("record", "phase", "reason", "message", "id", "key", "manager", "conditions")),
        **dict.fromkeys(("observedAt", "observedBy", "submittedAt", "startedAt", "observedGeneration")),
    },
    "intent lost": {"phase": "Pending", "id": None, "record": {"intent": None, "handle": None}},
    "made to look as if it had ended": {"phase": "Succeeded", "exitCode": 0},
    "another job's id": {"id": "1", "record": {"handle": {"id": "1"}}},
    "an attempt that never was": {"attempt": 3, "phase": "Pending", "record": {"intent": None, "handle": None}},
    "nonsense": {"record": {"handle": 5, "epoch": "x"}},
}


def test_a_status_that_was_forged_while_nobody_led_is_not_believed(kube, hpc):
    first = kube.operator()
    names = {f"once{number}": forgery for number, forgery in enumerate(FORGERIES.values())}
    kube.apply(*(job(name, hpc, "sleep 8; exit 3") for name in names))
    for name in names:
        until(lambda name=name: kube.phase(name, OPEN) == "Running", f"{name} runs")
    end(kube, first)
    for name, forgery in names.items():
        forge(kube, name, forgery)

    kube.operator()

    for name, forgery in zip(names, FORGERIES, strict=True):
        until(lambda name=name: kube.phase(name, OPEN) == "Failed", f"{forgery}: its own end is seen")
        [record] = records_of(hpc, name)
        status = kube.status(name, OPEN)
        assert (record.id, 3, "ExitCode") == (status["id"], status["exitCode"], status["reason"]), forgery


def test_one_that_is_deleted_after_its_record_was_lost_is_cancelled_all_the_same(kube, hpc):
    first = kube.operator()
    kube.apply(job("lost", hpc, "sleep 600"))
    until(lambda: kube.phase("lost", OPEN) == "Running", "it runs")
    end(kube, first)
    forge(kube, "lost", {"record": None, "id": None, "phase": "Pending"})
    kube.kubectl("delete", "bj", "lost", "-n", OPEN, "--wait=false")

    kube.operator()

    until(lambda: not kube.job("lost", OPEN), "it goes")
    assert ["CANCELLED"] == [record.state.split()[0] for record in records_of(hpc, "lost")]


def test_a_number_of_an_attempt_cannot_be_taken_back_nor_made_up(kube, hpc):
    kube.operator()
    kube.apply(job("counted", hpc, "sleep 4"))
    until(lambda: kube.phase("counted", OPEN) == "Running", "it runs")

    for attempt in (0, 1000):
        with pytest.raises(AssertionError, match=r"status\.attempt"):
            forge(kube, "counted", {"attempt": attempt})

    until(lambda: kube.phase("counted", OPEN) == "Succeeded", "it ends")
    assert 1 == len(records_of(hpc, "counted"))


def test_a_finalizer_that_is_taken_away_by_hand_comes_back_while_the_job_is_outside(kube, hpc):
    kube.operator()
    kube.apply(job("held", hpc, "sleep 600"))
    until(lambda: kube.phase("held", OPEN) == "Running", "it runs")

    kube.kubectl(
        "patch", "bj", "held", "-n", OPEN, "--type=merge", "-p", json.dumps({"metadata": {"finalizers": None}})
    )
    until(lambda: kube.job("held", OPEN)["metadata"].get("finalizers"), "it is held again")
    kube.kubectl("delete", "bj", "held", "-n", OPEN, "--timeout=60s")

    until(lambda: records_of(hpc, "held")[0].state.startswith("CANCELLED"), "Slurm says so")


def test_an_owner_that_does_not_exist_is_a_deletion_and_cancels(kube, hpc):
    """
    Kubernetes' collector removes what its owners have left behind.
    """
    kube.operator()
    kube.apply(job("owned", hpc, "sleep 600"))
    until(lambda: kube.phase("owned", OPEN) == "Running", "it runs")
    owner = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "never-was",
        "uid": "00000000-0000-0000-0000-000000000001",
    }

    kube.kubectl(
        "patch", "bj", "owned", "-n", OPEN, "--type=merge", "-p", json.dumps({"metadata": {"ownerReferences": [owner]}})
    )

    until(lambda: not kube.job("owned", OPEN), "the collector removes it")
    assert ["CANCELLED"] == [record.state.split()[0] for record in records_of(hpc, "owned")]


def test_a_job_that_is_made_anew_under_its_name_is_another_job(kube, hpc):
    """
    What was let go of by hand runs on, and is not taken for the new one's.
    """
    first = kube.operator()
    kube.apply(job("twin", hpc, "sleep 600"))
    until(lambda: kube.phase("twin", OPEN) == "Running", "it runs")
    end(kube, first)
    status = kube.status("twin", OPEN)
    kube.kubectl(
        "patch", "bj", "twin", "-n", OPEN, "--type=merge", "-p", json.dumps({"metadata": {"finalizers": None}})
    )
    kube.kubectl("delete", "bj", "twin", "-n", OPEN)
    kube.apply(job("twin", hpc, "true"))
    forge(kube, "twin", {"phase": "Running", "attempt": 0, "id": status["id"]})

    kube.operator()

    until(lambda: kube.phase("twin", OPEN) == "Succeeded", "the new one runs by itself")
    one, other = records_of(hpc, "twin")
    assert (status["id"], "RUNNING") == (one.id, one.state)
    assert (kube.status("twin", OPEN)["id"], "COMPLETED") == (other.id, other.state)
    hpc.run("scancel", one.id)


@pytest.fixture(autouse=True)
def _open_to_all(kube, hpc):
    """Let jobs of a namespace without admission policies use the target: there anybody may write anything."""
    kube.apply(target(hpc, allowedNamespaces={"from": "All"}, options={"settleSeconds": 1}))


def job(name, slurm, script):
    return job_in(name, slurm, script, OPEN, target={"name": "hpc", "namespace": LAB})


def end(kube, operator):
    """Kill *operator*, and let nobody wait for its Lease."""
    operator.kill()
    kube.expire_lease()


def forge(kube, name, status):
    kube.kubectl(
        "patch", "bj", name, "-n", OPEN, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status})
    )
