"""A real API server on which the chart's rights and policies hold, and a real Slurm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.operator.world import Cluster, begin_records, target
from tests.testbed.slurm import SlurmCluster


@pytest.fixture
def kube(control_plane, tether, tmp_path) -> Iterator[Cluster]:
    cluster = Cluster(control_plane, tmp_path, tether)
    cluster.prepare()
    try:
        yield cluster
    finally:
        cluster.close()
        for log in sorted(tmp_path.glob("operator-*.log")):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-6000:]}")


@pytest.fixture
def hpc(kube, slurm_2605_dbd) -> SlurmCluster:
    """A target `hpc` for real Slurm, with its token in a Secret."""
    begin_records(slurm_2605_dbd)
    kube.put_secret("hpc-token", token=slurm_2605_dbd.token())
    kube.apply(target(slurm_2605_dbd))
    return slurm_2605_dbd
