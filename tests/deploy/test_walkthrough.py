"""The walk-through is typed as its page says, on a cluster of two nodes beside real Slurm; then Slurm is asked."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.testbed.image import IMAGE
from tests.testbed.kube import KubeSpec
from tests.testbed.kube_switch import Switch

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "deploy" / "walkthrough.sh"
LONGEST = 500


@pytest.fixture
def surroundings(start_kube, helm, bascule_image, slurm_2605_dbd):
    """
    What `python -m tests.testbed kube` gives a command.
    """
    cluster, slurm = start_kube(KubeSpec(nodes=2)), slurm_2605_dbd
    cluster.load(bascule_image)
    with Switch(cluster) as switch:
        environment = cluster.environment()
        yield {
            **environment,
            "PATH": f"{helm.parent}{os.pathsep}{environment['PATH']}",
            "NODES": shlex.join(switch.command),
            "LAB": shlex.join(slurm.inside()),
            "LAB_IMAGE": IMAGE,
            "LAB_JOBS": str(cluster.share(slurm.jobs_dir)),
            "LAB_TOKEN": slurm.token(),
            "LAB_URL": f"http://{cluster.lend(slurm.ports.rest)}",
            "LAB_USER": slurm.user,
        }


@pytest.mark.timeout(LONGEST + 200)
def test_a_node_and_the_operators_die_and_each_job_ran_once(surroundings, slurm_2605_dbd, tmp_path):
    before = {record.id for record in slurm_2605_dbd.records()}
    log = tmp_path / "said"

    with log.open("wb") as said:
        done = subprocess.run(
            ["sh", str(SCRIPT)],
            cwd=ROOT,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            timeout=LONGEST,
        )

    assert 0 == done.returncode, log.read_text(errors="replace")
    ours = [record for record in slurm_2605_dbd.records() if record.id not in before]
    ran = sorted((record.name.partition("-")[0], record.state.partition(" ")[0]) for record in ours)
    assert [("other", "CANCELLED"), ("train", "FAILED")] == ran
