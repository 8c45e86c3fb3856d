"""Real kills against real Slurm, the short version; `make chaos` is the long one."""

from __future__ import annotations

import random
import time

import pytest

from tests.chaos.harness import SLURM_CONF, Chaos
from tests.testbed.slurm import SlurmSpec

SECONDS = 25.0
"""For each version, apart from coming to rest."""


@pytest.mark.real
@pytest.mark.root
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("version", "accounting"), [("22.05", False), ("26.05", True)], ids=["22.05", "26.05"])
def test_nothing_runs_twice_is_lost_or_left(start_slurm, tmp_path, version, accounting):
    cluster = start_slurm(SlurmSpec(version=version, accounting=accounting, extra_conf=SLURM_CONF))
    seed = random.randrange(10**6)
    chaos = Chaos(cluster, tmp_path, seed=seed, kills_ctld=True)

    outcome = chaos.run(500, until=time.monotonic() + SECONDS)

    assert not outcome.verdict.faults, f"seed {seed}\n{outcome.words()}"
    assert outcome.kills > 3
