"""The API server, its store and the way to it fail for longer than every lease: one run on Slurm, and a true status."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest

from tests.clients.wire import WireApart
from tests.operator.world import job, records_of, until

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

LEASE = 6
AWAY = 1.5 * LEASE
"""Seconds for which something is away: longer than the Lease, and than whatever a leader waits for."""


@pytest.mark.parametrize(("program", "how"), [("etcd", "killed"), ("etcd", "frozen"), ("kube-apiserver", "frozen")])
def test_what_is_away_for_longer_than_the_lease_is_waited_for(kube, hpc, control_plane, program, how):
    """
    Two operators run, as the chart has it, and are started anew when they end.
    """
    with kube.replicas(2, f"--lease-seconds={LEASE}") as operators:
        leader = until(lambda: next((each for each in operators if each.leads), None), "one leads")
        kube.apply(job("short", hpc, "sleep 5; exit 3"), job("long", hpc, "sleep 16"))
        for name in ("short", "long"):
            until(lambda name=name: kube.phase(name) == "Running", f"{name} runs")

        control_plane.take_away(program, how)
        gone = time.monotonic()
        until(lambda: 75 in leader.ends, "the leader steps down in time", within=LEASE)
        until(lambda: time.monotonic() - gone > AWAY, "longer than the Lease")
        until(lambda: records_of(hpc, "short")[0].state == "FAILED", "the short one ended meanwhile")
        control_plane.bring_back(program, how)

        until(lambda: kube.phase("short") == "Failed", "the end of the short one is seen")
        assert 3 == kube.status("short")["exitCode"]
        kube.apply(job("later", hpc, "true"))
        until(lambda: kube.phase("later") == "Succeeded", "the next one runs")
        until(lambda: kube.phase("long") == "Succeeded", "the long one has run on")
    assert [1, 1, 1] == [len(records_of(hpc, name)) for name in ("short", "long", "later")]


@pytest.fixture
def wire(control_plane):
    where = urlsplit(control_plane.url)
    with WireApart(where.hostname, where.port) as wire:
        yield wire


def test_connections_that_fall_silent_are_given_up_and_the_lead_is_kept(kube, hpc, wire):
    """
    No end, no error, only nothing, as where something on the way has forgotten them; new ones are good.
    """
    operator = kube.operator(kubeconfig=kube.by_way_of(wire.port))
    until(lambda: operator.leads, "it leads")
    kube.apply(job("before", hpc, "sleep 6"))
    until(lambda: kube.phase("before") == "Running", "it runs")

    wire.fall_silent()
    kube.apply(job("during", hpc, "true"))

    # In seconds where the next request meets the silence, and else when the watch itself has been silent for too long.
    until(lambda: kube.phase("during") == "Succeeded", "what came meanwhile is seen", within=120)
    until(lambda: kube.phase("before") == "Succeeded", "so is what ended meanwhile")
    assert operator.lives
    assert [1, 1] == [len(records_of(hpc, name)) for name in ("before", "during")]


def test_a_history_that_is_gone_leads_to_a_list_and_no_change_is_lost(kube, hpc, control_plane, wire):
    """
    While the operator is cut off the store drops its history, and the API server what it has in memory.
    """
    operator = kube.operator("--lease-seconds=120", kubeconfig=kube.by_way_of(wire.port))
    until(lambda: operator.leads, "it leads")
    kube.apply(job("stays", hpc, "sleep 600"), job("goes", hpc, "sleep 600"))
    for name in ("stays", "goes"):
        until(lambda name=name: kube.phase(name) == "Running", f"{name} runs")

    wire.cut(refuses=True)
    kube.apply(job("comes", hpc, "true"))
    kube.kubectl("delete", "bj", "goes", "--wait=false")
    kube.kubectl("patch", "bj", "stays", "--type=merge", "-p", '{"spec":{"cancel":true}}')
    control_plane.compact()
    control_plane.restart("kube-apiserver")
    wire.mend()

    until(lambda: kube.phase("comes") == "Succeeded", "what came is run")
    until(lambda: not kube.job("goes"), "what went is let go")
    until(lambda: kube.phase("stays") == "Cancelled", "what changed is taken up")
    assert operator.lives
    assert [1, 1, 1] == [len(records_of(hpc, name)) for name in ("comes", "goes", "stays")]
