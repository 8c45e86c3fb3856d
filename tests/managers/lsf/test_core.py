"""The whole of Bascule over the fake LSF: whatever becomes of the line, a job runs once and ends truly."""

from __future__ import annotations

import asyncio
import os

import pytest

import bascule
from bascule.model import Phase
from tests.fakes.lsf.cluster import US, FakeCluster
from tests.fakes.lsf.server import PASSWORDS, FakeCenter
from tests.managers.lsf.worlds import PASSWORD_NAME, LsfWorld, target_at

pytestmark = pytest.mark.slow

FAULTS = [(call, kind) for call in ("submit", "release", "observe") for kind in ("cut before", "cut after", "doubled")]


@pytest.fixture
def center(tmp_path):
    os.environ[PASSWORD_NAME] = PASSWORDS[US]
    (tmp_path / "jobs").mkdir()
    with FakeCenter(FakeCluster(tmp_path / "jobs", slots=4)) as center:
        yield center
        assert [] == center.crimes


@pytest.mark.parametrize(("call", "kind"), FAULTS, ids=lambda value: value)
async def test_it_runs_once(tmp_path, center, call, kind):
    runs = tmp_path / "runs"
    center.fault(LsfWorld.patterns[call], kind)

    async with bascule.connect(tmp_path / "home") as bridge:
        await bridge.apply_target(target_at(center.url, settleSeconds=1.0))
        work = bascule.Job("once", target="hpc", command=["/bin/sh", "-c", f"echo ran >>{runs}; exit 3"])
        job = await bridge.submit(work)
        result = await job.wait(90)

    assert [] == center.faults
    assert (Phase.FAILED, 3) == (result.phase, result.exit_code)
    assert "ran\n" == runs.read_text()


async def test_a_session_that_ends_all_the_time_delays_nothing_but_requests(tmp_path, center):
    async with bascule.connect(tmp_path / "home") as bridge:
        await bridge.apply_target(target_at(center.url))
        job = await bridge.submit(bascule.Job("on", target="hpc", command=["sleep", "1"]))
        while not (status := await job.status()).phase.is_final:
            center.sessions.clear()
            await asyncio.sleep(1)

    assert Phase.SUCCEEDED is status.phase
