"""`run` where the target's output cannot be read: a cluster without a shared folder."""

from __future__ import annotations

import time

import pytest

from tests.cli.conftest import until
from tests.fakes.slurmrestd.cluster import US, FakeCluster
from tests.fakes.slurmrestd.server import TOKEN, FakeSlurmrestd


@pytest.fixture
def cluster(terminal, command, monkeypatch):
    monkeypatch.setenv("CANARY_TOKEN", TOKEN)
    with FakeSlurmrestd(FakeCluster(time.time), "v0.0.45") as server:
        spec = f"{{manager: slurm, url: '{server.url}', credentials: {{user: {US}, env: CANARY_TOKEN}}}}"
        head = "apiVersion: bascule.dev/v1alpha1\nkind: BridgeTarget\nmetadata: {name: hpc}\n"
        (terminal.folder / "hpc.yaml").write_text(f"{head}spec: {spec}\n")
        assert 0 == command("apply", "-f", "hpc.yaml").code
        yield server.cluster


def test_it_is_said_once_and_the_job_is_followed_to_its_end(terminal, cluster):
    head = "apiVersion: bascule.dev/v1alpha1\nkind: BridgeJob\nmetadata: {name: train}\n"
    work = "workingDirectory: /tmp, run: {command: ['true']}"
    (terminal.folder / "job.yaml").write_text(f"{head}spec: {{target: {{name: hpc}}, {work}}}\n")
    run = terminal.start("run", "job.yaml")
    until(lambda: [job for job in cluster.jobs() if not job.held], "it may start")
    (job,) = cluster.jobs()
    cluster.start(job.id)
    cluster.finish(job.id, exit_code=3)

    _, said = run.communicate(timeout=60)

    assert 3 == run.returncode
    assert 1 == said.count(b"its output is not shown")
    assert b"`files.root`" in said
