"""Objects at the limit of what etcd takes: each is in trouble by itself, and says so in a line."""

from __future__ import annotations

import json

import pytest

from tests.operator.world import job, records_of, until

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

WHOLE = 1536 * 1024


def test_one_that_has_no_room_for_a_status_is_not_submitted_and_says_so(kube, hpc):
    kube.operator()
    huge = job("huge", hpc, "true")
    pad = WHOLE - len(json.dumps(huge)) - 1200
    huge["spec"]["env"] = {f"PAD{number}": "x" * (pad // 50) for number in range(50)}

    kube.kubectl("create", "-f", "-", given=json.dumps(huge))
    kube.apply(job("beside", hpc, "true"))

    until(lambda: "no room for its status" in events_of(kube, "huge"), "it is told")
    until(lambda: kube.phase("beside") == "Succeeded", "the other one runs")
    assert not records_of(hpc, "huge")
    assert "" == kube.phase("huge")
    kube.kubectl("delete", "bj", "huge", "--timeout=30s")


def test_one_that_grew_while_it_ran_is_put_right_once_there_is_room(kube, hpc):
    """
    Its end cannot be written at first; it is seen nevertheless, and nothing runs twice.
    """
    kube.operator()
    grown = job("grown", hpc, "sleep 12; exit 3", retry={"limit": 2, "reasons": ["Lost"]})
    grown["spec"]["env"] = {f"PAD{number}": "x" * 30_000 for number in range(45)}
    kube.kubectl("create", "-f", "-", given=json.dumps(grown))
    until(lambda: kube.phase("grown") == "Running", "it runs")
    fill(kube, "grown")

    until(lambda: records_of(hpc, "grown")[0].state == "FAILED", "it ends")
    until(lambda: "no room for its status" in events_of(kube, "grown"), "it is told")
    assert "Running" == kube.phase("grown")
    kube.kubectl("annotate", "bj", "grown", "pad-")

    until(lambda: kube.phase("grown") == "Failed", "its end is written")
    assert 3 == kube.status("grown")["exitCode"]
    assert 1 == len(records_of(hpc, "grown"))


def fill(kube, name):
    """Let an annotation take all the room that is left in an object."""
    low, high = 0, 250_000
    while high - low > 40:
        size = (low + high) // 2
        change = {"metadata": {"annotations": {"pad": "x" * size}}}
        if takes(kube, name, change):
            low = size
        else:
            high = size


def takes(kube, name, change):
    line = ["patch", "bj", name, "--type=merge", "--patch-file=/dev/stdin"]
    try:
        kube.kubectl(*line, given=json.dumps(change))
    except AssertionError as refusal:
        if "too large" not in str(refusal):
            raise
        return False
    return True


def events_of(kube, name):
    return kube.kubectl("get", "events", "--field-selector", f"involvedObject.name={name}", "-o", "json")
