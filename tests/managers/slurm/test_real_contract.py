"""The contract of managers on a real Slurm 22.05 without accounting: the version that remembers least."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.contracts.manager import ManagerContract
from tests.managers.slurm.real_world import RealWorld
from tests.managers.slurm.worlds import ABILITIES

pytestmark = [pytest.mark.real, pytest.mark.root]


class World2205(RealWorld):
    abilities = replace(ABILITIES, history=False, output=True, warns=False, settles=2.0)


class TestSlurm2205(ManagerContract):
    world_type = World2205
    loop_factory = None

    @pytest.fixture(autouse=True)
    def _cluster(self, slurm_2205):
        World2205.cluster = slurm_2205

    @pytest.fixture
    async def world(self, _cluster, tmp_path):
        async with World2205(tmp_path) as world:
            yield world

    # A minute is the least that Slurm can be told, and half of one more until it looks: see test_real_lives.
    test_the_walltime_ends_a_job_and_is_its_reason = None
    # Others' jobs of the same cluster are listed too: see test_real_lives.
    test_a_sweep_lists_ours_and_no_strangers = None
    # Slurm lets a user shorten the time of a running job, and only an administrator lengthen it: see test_real_lives.
    test_a_longer_walltime_lets_a_job_run_on = None
