"""Whatever dies, freezes or meddles: one run on Slurm, no orphan, and in the end a status that is true."""

from __future__ import annotations

import json

import pytest

from tests.operator.world import LAB, LIE, OPEN, OTHER, job, records_of, target, until

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

POINTS = [
    *("core.saved", "core.before.submit", "core.after.submit", "core.saved:2"),
    *("core.before.release", "core.after.release", "core.saved:3"),
]


@pytest.mark.parametrize("point", POINTS)
def test_an_operator_that_dies_leaves_one_run(kube, hpc, point):
    first = kube.operator(BASCULE_FAILPOINT=point)
    kube.apply(job("once", hpc, "echo $SLURM_JOB_ID"))
    until(lambda: not first.lives, f"the first dies at {point}")

    assert_another_brings_it_home_once(kube, hpc)


@pytest.mark.parametrize("point", ["core.before.find", "core.after.find"])
def test_one_that_dies_while_it_looks_for_what_a_dead_one_did_leaves_one_run(kube, hpc, point):
    first = kube.operator(BASCULE_FAILPOINT="core.after.submit")
    kube.apply(job("once", hpc, "true"))
    until(lambda: not first.lives, "the first dies")
    kube.expire_lease()
    second = kube.operator(BASCULE_FAILPOINT=point)
    until(lambda: not second.lives, f"the second dies at {point}")

    assert_another_brings_it_home_once(kube, hpc)


@pytest.mark.parametrize("point", ["core.before.cancel", "core.after.cancel"])
def test_one_that_dies_while_it_cancels_is_followed_by_one_that_cancels(kube, hpc, point):
    first = kube.operator(BASCULE_FAILPOINT=point)
    kube.apply(job("long", hpc, "sleep 600"))
    until(lambda: kube.phase("long") == "Running", "it runs")
    kube.kubectl("delete", "bj", "long", "--wait=false")
    until(lambda: not first.lives, f"the first dies at {point}")
    assert kube.job("long")

    kube.expire_lease()
    kube.operator()

    until(lambda: not kube.job("long"), "it is gone")
    [record] = records_of(hpc, "long")
    assert record.state.startswith("CANCELLED")


def test_of_two_operators_one_leads_and_the_other_takes_over(kube, hpc):
    first = kube.operator()
    until(lambda: first.leads, "the first leads")
    second = kube.operator()
    kube.apply(job("before", hpc, "sleep 5"))
    until(lambda: kube.phase("before") == "Running", "it runs")
    assert not second.leads

    first.kill()  # and its Lease is waited for

    until(lambda: second.leads, "the second leads")
    kube.apply(job("after", hpc, "true"))
    for name in ("before", "after"):
        until(lambda name=name: kube.phase(name) == "Succeeded", f"{name} succeeds")
        assert 1 == len(records_of(hpc, name))


@pytest.mark.parametrize("point", ["core.before.submit", "core.after.submit"])
def test_a_leader_that_was_frozen_for_longer_than_its_lease_does_no_more(kube, hpc, point):
    """
    It wakes up between two steps of a submit, long after another has finished the job.
    """
    frozen = kube.operator(BASCULE_FAILPOINT=f"{point}:{'' if ':' in point else '1:'}stop")
    kube.apply(job("once", hpc, "true"))
    until(lambda: "Submitting" == kube.phase("once"), "the intent is saved")
    second = kube.operator()
    until(lambda: second.leads, "the second leads")
    until(lambda: kube.phase("once") == "Succeeded", "the second brings it to its end")

    frozen.thaw()

    until(lambda: frozen.process.poll() is not None, "the first ends")
    assert 75 == frozen.process.returncode
    assert "Succeeded" == kube.phase("once")
    ran = [record for record in records_of(hpc, "once") if record.state == "COMPLETED"]
    assert [kube.status("once")["id"]] == [record.id for record in ran]


def test_a_status_that_a_user_edits_is_put_right(kube, hpc):
    """
    Where the policies are not installed, or were taken away.
    """
    kube.operator()
    kube.apply(target(hpc, allowedNamespaces={"from": "All"}))
    kube.apply(job("long", hpc, "sleep 12", OPEN, target={"name": "hpc", "namespace": LAB}))
    until(lambda: kube.phase("long", OPEN) == "Running", "it runs")
    true_id = kube.status("long", OPEN)["id"]

    kube.kubectl("patch", "bj", "long", "-n", OPEN, "--subresource=status", "--type=merge", "-p", LIE)

    truth = ("Running", true_id)
    until(lambda: (kube.phase("long", OPEN), kube.status("long", OPEN)["id"]) == truth, "it is put right", within=30)
    until(lambda: kube.phase("long", OPEN) == "Succeeded", "it ends")
    [record] = records_of(hpc, "long")
    assert "COMPLETED" == record.state


def test_a_job_waits_for_a_secret_that_is_missing_and_for_one_that_is_wrong(kube, hpc):
    kube.kubectl("delete", "secret", "hpc-token")
    operator = kube.operator()
    kube.apply(job("patient", hpc, "true"))
    until(lambda: "Secret `hpc-token`" in kube.status("patient").get("message", ""), "it says what is missing")
    assert "Pending" == kube.phase("patient")

    kube.put_secret("hpc-token", token="canary-wrong-token")
    # The target is looked at with growing pauses, and says what was found.
    until(lambda: "did not accept" in json.dumps(kube.get("bt", "hpc")["status"]), "it says what is wrong")
    assert "Pending" == kube.phase("patient")

    kube.put_secret("hpc-token", token=hpc.token())
    until(lambda: kube.phase("patient") == "Succeeded", "it runs with the right one", within=150)
    assert 1 == len(records_of(hpc, "patient"))
    told = kube.kubectl("get", "bj,bt,events", "-o", "yaml") + operator.said
    assert not [each for each in ("canary", hpc.token().split(".")[0]) if each in told]


def test_a_token_that_is_renewed_while_a_job_runs_is_used_from_then_on(kube, hpc):
    """
    Before the old one is refused, and after that.
    """
    kube.put_secret("hpc-token", token=hpc.token(lifespan=8))
    operator = kube.operator()
    kube.apply(job("first", hpc, "sleep 6"), job("second", hpc, "sleep 12"))
    for name in ("first", "second"):
        until(lambda name=name: kube.phase(name) == "Running", f"{name} runs")

    kube.put_secret("hpc-token", token=(brief := hpc.token(lifespan=8)))
    until(lambda: kube.phase("first") == "Succeeded", "the end of the first is seen")
    until(lambda: "did not accept" in json.dumps(kube.get("bt", "hpc")), "the second token ends too")
    until(lambda: records_of(hpc, "second")[0].state == "COMPLETED", "the second job ends unseen")
    assert "Running" == kube.phase("second")
    kube.put_secret("hpc-token", token=hpc.token())

    until(lambda: kube.phase("second") == "Succeeded", "its end is seen", within=45)
    told = kube.kubectl("get", "bj,bt,events", "-o", "yaml") + operator.said
    assert brief.split(".")[2] not in told


def test_what_a_schema_cannot_say_is_not_accepted_with_a_reason(kube, hpc):
    kube.operator()
    kube.apply(
        target(hpc),
        job("odd", hpc, "true", options={"partitoin": "main"}),
        job("long-wait", hpc, "true", deadlines={"queued": "99999d"}),
    )

    for name, words in (("odd", "partitoin"), ("long-wait", "ten years")):
        until(lambda name=name: kube.status(name).get("reason") == "NotAccepted", f"{name} is refused")
        [accepted] = [each for each in kube.status(name)["conditions"] if each["type"] == "Accepted"]
        assert "False" == accepted["status"]
        assert words in accepted["message"]
        assert not records_of(hpc, name)
    kube.kubectl("delete", "bj", "odd", "long-wait", "--timeout=30s")


def test_a_target_of_another_namespace_must_allow_it(kube, hpc):
    kube.operator()
    stranger = job("stranger", hpc, "true", OTHER, target={"name": "hpc", "namespace": LAB})
    # Once the target is in use from its own namespace it is still shut for others.
    kube.apply(job("own", hpc, "true"))
    until(lambda: kube.phase("own") == "Succeeded", "its own namespace may")

    kube.apply(stranger)

    until(lambda: kube.status("stranger", OTHER).get("reason") == "NotAccepted", "the stranger is refused")
    assert f"may not be used from namespace `{OTHER}`" in kube.status("stranger", OTHER)["message"]
    kube.apply(target(hpc, allowedNamespaces={"from": "Names", "names": [OTHER]}))
    until(lambda: kube.phase("stranger", OTHER) == "Succeeded", "it runs once it is allowed")


def test_a_deletion_is_held_until_the_cancellation_is_confirmed_or_the_job_is_abandoned(kube, hpc):
    kube.operator()
    kube.apply(job("kept", hpc, "sleep 300"))
    until(lambda: kube.phase("kept") == "Running", "it runs")
    kube.kubectl("delete", "secret", "hpc-token")

    kube.kubectl("delete", "bj", "kept", "--wait=false")
    until(lambda: "Secret `hpc-token`" in json.dumps(kube.status("kept")), "it says why it stays")
    assert kube.job("kept")

    kube.kubectl("annotate", "bj", "kept", "bascule.dev/abandon=true")
    until(lambda: not kube.job("kept"), "it is let go")
    [record] = records_of(hpc, "kept")
    assert "RUNNING" == record.state
    hpc.run("scancel", record.id)


def test_a_job_that_is_detached_runs_on_after_its_deletion(kube, hpc):
    kube.operator()
    kube.apply(job("free", hpc, "sleep 8", onDelete="Detach"))
    until(lambda: kube.phase("free") == "Running", "it runs")

    kube.kubectl("delete", "bj", "free", "--timeout=30s")

    assert "RUNNING" == records_of(hpc, "free")[0].state
    until(lambda: records_of(hpc, "free")[0].state == "COMPLETED", "it ends by itself")


def test_an_api_server_that_is_killed_and_comes_back_stops_nothing(kube, hpc, control_plane):
    """
    One that has just started knows nobody's rights for a moment; whoever loses the lead by that is started anew.
    """
    with kube.replicas(1):
        kube.apply(job("during", hpc, "sleep 6"))
        until(lambda: kube.phase("during") == "Running", "it runs")

        control_plane.restart("kube-apiserver")

        until(lambda: kube.phase("during") == "Succeeded", "it ends")
        kube.apply(job("later", hpc, "true"))
        until(lambda: kube.phase("later") == "Succeeded", "the next one runs")
    assert [1, 1] == [len(records_of(hpc, name)) for name in ("during", "later")]


def assert_another_brings_it_home_once(kube, hpc):
    """Let another operator follow one that is dead, and look at the one run of the job `once`."""
    kube.expire_lease()
    kube.operator()

    until(lambda: kube.phase("once") == "Succeeded", "once succeeds")
    [record] = records_of(hpc, "once")
    assert record.id == kube.status("once")["id"]
