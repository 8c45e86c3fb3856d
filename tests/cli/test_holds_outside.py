"""`release` and a hold that somebody made at the manager, not by `hold`: a fake slurmctld over real HTTP."""

from __future__ import annotations

import time

import pytest

from tests.cli.conftest import until
from tests.fakes.slurmrestd.cluster import US, FakeCluster
from tests.fakes.slurmrestd.server import TOKEN, FakeSlurmrestd

pytestmark = pytest.mark.long


@pytest.fixture
def cluster(terminal, command, monkeypatch):
    monkeypatch.setenv("CANARY_TOKEN", TOKEN)
    with FakeSlurmrestd(FakeCluster(time.time), "v0.0.45") as server:
        spec = f"{{manager: slurm, url: '{server.url}', credentials: {{user: {US}, env: CANARY_TOKEN}}}}"
        head = "apiVersion: bascule.dev/v1alpha1\nkind: BridgeTarget\nmetadata: {name: hpc}\n"
        (terminal.folder / "hpc.yaml").write_text(f"{head}spec: {spec}\n")
        assert 0 == command("apply", "-f", "hpc.yaml").code
        yield server.cluster


@pytest.fixture
def job(terminal, command, cluster):
    """Return a job that waits in Slurm's queue, as Slurm has it."""
    head = "apiVersion: bascule.dev/v1alpha1\nkind: BridgeJob\nmetadata: {name: train}\n"
    work = "workingDirectory: /tmp, run: {command: ['true']}"
    (terminal.folder / "job.yaml").write_text(f"{head}spec: {{target: {{name: hpc}}, {work}}}\n")
    assert 0 == command("submit", "job.yaml").code
    until(lambda: "Queued" in command("get", "jobs").out, "it waits")
    (job,) = cluster.jobs()
    return job


def test_a_hold_made_outside_is_lifted_and_said(command, cluster, job):
    cluster.hold(job, hold=True)

    released = command("release", "train")

    assert not job.held
    assert 0 == released.code
    assert "job/train: lifted a hold that was made outside" in released.err


def test_where_there_is_none_nothing_is_lifted(command, cluster, job):
    released = command("release", "train")

    assert (0, "") == (released.code, released.err)
    assert not job.held


def test_a_hold_of_ours_is_lifted_as_ever(command, cluster, job):
    assert 0 == command("hold", "train").code
    assert job.held

    released = command("release", "train")

    assert 0 == released.code
    assert "made outside" not in released.err
    assert not job.held


def test_a_job_that_was_suspended_outside_says_who_can_let_it_go_on(command, cluster, job):
    cluster.start(job.id)
    cluster.say(job.id, "SUSPENDED")

    released = command("release", "train")

    assert 65 == released.code
    assert "was suspended while it ran" in released.err


def test_a_silent_manager_is_said(command, cluster, job):
    cluster.hold(job, hold=True)
    cluster.is_down = True

    assert command("release", "train").code in {69, 75}
    assert job.held
