"""The command on Kubernetes: the same words, over custom resources, while the operator moves them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.operator.world import job, records_of, target, until
from tests.testbed.tether import Tether

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]


class Command:
    """The command, as somebody uses it who is admin of the lab."""

    def __init__(self, kubeconfig: Path, folder: Path, tether: Tether) -> None:
        self.tether = tether
        self.env = {**os.environ, "KUBECONFIG": str(kubeconfig), "BASCULE_PLATFORM": "kubernetes"}
        self.folder = folder

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "bascule", *words],
            env=self.env,
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.tether.hold(process.pid)
        return process

    def __call__(self, *words: str, code: int = 0) -> str:
        process = self.start(*words)
        out, err = process.communicate(timeout=150)
        assert code == process.returncode, out + err
        return out + err


@pytest.fixture
def bascule(kube, tmp_path):
    return Command(kube.person("ada"), tmp_path, kube.tether)


def test_run_is_a_step_of_a_pipeline(kube, hpc, bascule, tmp_path):
    """
    It submits, shows the output, and ends with the job's own code.
    """
    kube.operator()
    kube.apply(target(hpc, files={"root": str(hpc.jobs_dir)}))
    (tmp_path / "train.sh").write_text("#!/bin/bash\necho trained $SLURM_JOB_ID\nexit 7\n")

    said = bascule("run", "train.sh", "-t", "hpc", code=7)

    [record] = records_of(hpc, "train")
    assert f"trained {record.id}" in said
    assert "train" in bascule("get", "jobs")
    assert record.id in bascule("get", "jobs", "train", "-o", "json")
    assert "Submitted" in bascule("describe", "job", "train")
    assert f"trained {record.id}" in bascule("logs", "train")
    bascule("wait", "train", code=7)
    bascule("delete", "job", "train")
    until(lambda: not kube.job("train"), "it is gone")


def test_a_step_that_is_ended_cancels_its_job_where_it_was_told_to(kube, hpc, bascule, tmp_path):
    kube.operator()
    kube.apply(target(hpc, files={"root": str(hpc.jobs_dir)}))
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job("step", hpc, "sleep 300")))
    step = bascule.start("run", "job.yaml", "--cancel-on-exit")
    until(lambda: kube.phase("step") == "Running", "it runs")

    step.send_signal(signal.SIGTERM)

    said = step.communicate(timeout=100)
    assert 73 == step.returncode, said
    assert "Cancelled" == kube.phase("step")
    assert records_of(hpc, "step")[0].state.startswith("CANCELLED")


def test_what_the_schema_refuses_is_told_as_a_mistake(kube, hpc, bascule, tmp_path):
    (tmp_path / "big.sh").write_text("#!/bin/sh\n" + "#" * (200 * 1024))

    said = bascule("submit", "big.sh", "-t", "hpc", code=64)

    assert "128 KiB" in said
