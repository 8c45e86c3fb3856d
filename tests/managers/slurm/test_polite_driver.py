"""How a whole driver treats a slurmrestd that has had enough: counted there."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
from msgspec.structs import replace

from bascule.managers.slurm import connect
from bascule.model import Job, JobSpec, Limits, Run, TargetRef
from bascule.platforms.embedded import open_store
from bascule.runner import Runner
from bascule.wiring import SystemClock
from tests.fakes.slurmrestd.cluster import FakeCluster
from tests.fakes.slurmrestd.server import TOKEN, FakeSlurmrestd
from tests.managers.slurm.worlds import TOKEN_NAME, Place, target_at

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

UNDER_WAY = 7
"""Requests that may have been sent before the server's no arrived: one on each other connection."""
BACK_OFF = b'{"jobs": [], "errors": [{"error_number": 1804, "error": "SLURMCTLD_COMMUNICATIONS_BACKOFF"}]}'


class Watched(FakeSlurmrestd):
    """Notes when it was asked."""

    def __init__(self, cluster):
        super().__init__(cluster)
        self.asked_at = []
        self.said_no_at = None

    def fault_for(self, line):
        fault = super().fault_for(line)
        self.asked_at.append(time.monotonic())
        if fault is not None:
            self.said_no_at = time.monotonic()
        return fault


async def drive(folder, target, jobs, enough):
    """Drive *jobs* jobs at *target* until *enough* says so."""
    clock = SystemClock()

    async def open_manager(target, namespace):
        return connect(target, namespace, Place(clock))

    async with open_store(folder / "home", clock, drive=True) as store, asyncio.TaskGroup() as tasks:
        await store.put_target(target)
        runner = tasks.create_task(Runner(store, open_manager, clock).run())
        for number in range(jobs):
            spec = JobSpec(TargetRef("hpc"), run=Run(script="#!/bin/sh\n"), working_directory=str(folder))
            await store.create(Job("default", f"job{number}", "", spec))
        while not enough():  # noqa: ASYNC110 - looked at from outside
            await asyncio.sleep(0.02)
        runner.cancel()


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        ({"kind": "status", "status": 429, "body": b"no", "headers": {"Retry-After": "2"}}, 2.0),
        ({"kind": "status", "status": 503, "body": b"no", "headers": {"Retry-After": "2"}}, 2.0),
        ({"kind": "body", "body": BACK_OFF}, 10.0),
    ],
    ids=["429", "503", "Slurm's own"],
)
async def test_of_thirty_jobs_none_asks_a_server_that_wants_to_be_left_alone(tmp_path, monkeypatch, fault, seconds):
    """
    Not a job, not the monitor, not the probe that looks whether the target answers again.
    """
    monkeypatch.setattr("bascule.managers.slurm.rest.BACK_OFF", 3.0)
    seconds = min(seconds, 3.0)
    monkeypatch.setitem(os.environ, TOKEN_NAME, TOKEN)
    cluster = FakeCluster(time.time)
    with Watched(cluster) as server:
        server.fault("POST .*/job/submit", **fault)

        await drive(tmp_path, target_at(server.url), 30, lambda: len(cluster.jobs()) >= 30)

        said_no = server.said_no_at
        assert UNDER_WAY >= sum(said_no < at < said_no + seconds - 0.05 for at in server.asked_at)


async def test_no_more_jobs_are_active_at_the_server_than_the_owner_allows(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, TOKEN_NAME, TOKEN)
    cluster, most = FakeCluster(time.time), 0
    target = target_at("http://127.0.0.1:1")

    def enough():
        nonlocal most
        going = [job for job in cluster.jobs() if "COMPLETED" not in job.words]
        most = max(most, len(going))
        if going and not any(job.held for job in going):
            cluster.start(going[0].id)
            cluster.finish(going[0].id)
        return len(cluster.jobs()) == 8

    with Watched(cluster) as server:
        spec = replace(target.spec, url=server.url, limits=Limits(active_jobs=3))
        await drive(tmp_path, replace(target, spec=spec), 8, enough)

    assert 3 == most
