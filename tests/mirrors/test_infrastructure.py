"""Agents, a real Slurm, and a cluster whose store goes away for longer than anybody waits."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.mirrors.test_mirrors import ended_of

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

AWAY = 12.0
LINES = 16
SCRIPT = f"#!/bin/bash\nfor i in $(seq {LINES}); do echo line $i; sleep 0.5; done\nexit 3\n"
WHOLE = "".join(f"line {number}\n" for number in range(1, LINES + 1))


@pytest.fixture
def slurm(world, slurm_2605_dbd):
    slurm = slurm_2605_dbd
    world.put_secret("hpc-token", token=slurm.token())
    credentials = {"user": slurm.user, "secret": {"name": "hpc-token", "from": "JobNamespace"}}
    files = {"root": str(slurm.jobs_dir)}
    world.apply(world.target("hpc", url=slurm.url, credentials=credentials, files=files))
    return slurm


def submitted(world, slurm, name: str, script: str) -> None:
    folder = slurm.jobs_dir / world.namespace
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)  # the jobs are another user's
    world.submit(name, run={"script": script}, workingDirectory=str(folder))
    world.until_phase(name, "Running")


@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_a_store_that_is_away_for_longer_than_anybody_waits(world, slurm, control_plane, how):
    """
    Where it is killed, so is the agent, and its successors find no API server that answers.
    """
    submitted(world, slurm, "train", SCRIPT)
    world.until(lambda: b"line 1\n" in world.log("train"))
    key = world.status("train")["key"]
    first = world.agent("train")

    control_plane.take_away("etcd", how)
    gone = time.monotonic()
    if how == "killed":
        [agent] = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        os.kill(int(agent), signal.SIGKILL)
    world.until(lambda: time.monotonic() - gone > AWAY)
    world.until(lambda: state_of(slurm, key) == "FAILED")
    control_plane.bring_back("etcd", how)

    assert 3 == world.until_phase("train", "Failed")["exitCode"]
    world.until(lambda: ended_of(world, "train"))
    told = [line for line in world.log("train").decode().splitlines(keepends=True) if not line.startswith("bascule:")]
    assert WHOLE == "".join(told)
    assert "FAILED" == state_of(slurm, key)


def state_of(slurm, key: str) -> str:
    """Return the state of the one job that Slurm ever had under *key*."""
    [record] = [record for record in slurm.records() if record.name == key]
    return record.state
