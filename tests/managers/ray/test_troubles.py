"""What goes wrong with Ray in ways of its own, on a strict fake head."""

from __future__ import annotations

import dataclasses
import json
import time

import pytest
from msgspec.structs import replace

from bascule.errors import Mistake, Refused, Unauthorized, Unavailable
from bascule.managers.ray import head as head_module
from bascule.model import Absent, Files, Found, Handle, Input, Phase, Reason, Report, Resources, Run
from tests.contracts.manager_world import INSTALLATION
from tests.managers.ray.worlds import RayWorld

CROWD = 5000


def crowd(world, count=CROWD):
    """Fill the head's table with what others have run."""
    for n in range(count):
        id_ = f"raysubmit_{n:06}"
        world.cluster.submit({"submission_id": id_, "entrypoint": "python train.py --epochs 100 " * 5})
        world.cluster.jobs[id_].status = "SUCCEEDED"
        world.cluster.jobs[id_].ended = world.clock.timestamp()


def replace_status(job):
    """Return a row that nobody can read."""
    return dataclasses.replace(job, id="raysubmit_1", status=None)


class TestSubmit:
    async def test_an_id_that_is_a_strangers_job_is_refused_and_left_alone(self, fake):
        order = fake.order()
        fake.cluster.submit({"submission_id": order.key, "entrypoint": "true"})
        fake.cluster.start(order.key)

        with pytest.raises(Refused, match="not ours"):
            await fake.manager.submit(order)

        assert fake.still_runs(order.key)

    async def test_a_head_without_an_agent_has_taken_nothing(self, fake):
        fake.server.fault("POST .*/jobs/$", "status", status=500, body="No available agent to submit job, please try")

        with pytest.raises(Unavailable, match="no agent"):
            await fake.manager.submit(fake.order())

    async def test_equal_files_are_uploaded_once(self, fake):
        files = Files(inputs=(Input("data.txt", content="1,2,3"),))

        for _ in range(3):
            await fake.manager.submit(fake.order(files=files))

        assert 1 == fake.cluster.uploads

    async def test_a_package_is_there_before_its_job(self, fake):
        handle = await fake.manager.submit(fake.order(run=Run(script="#!/bin/sh\n")))

        await fake.start(handle)

        assert Phase.RUNNING is (await fake.see(handle)).phase

    @pytest.mark.parametrize("trouble", ["cut before", "cut after"])
    async def test_an_upload_that_broke_off_leaves_no_doubt(self, fake, trouble):
        """
        Of a package nothing runs: the job was not submitted, and may be again.
        """
        fake.server.fault("PUT .*/packages/", trouble)
        order = fake.order(run=Run(script="#!/bin/sh\n"))

        with pytest.raises(Unavailable):
            await fake.manager.submit(order)

        await fake.manager.submit(order)

    async def test_a_package_that_the_head_finds_too_large_is_final(self, fake):
        fake.server.fault("PUT .*/packages/", "status", status=413, body="Maximum request body size exceeded")

        with pytest.raises(Refused, match="does not take a package"):
            await fake.manager.submit(fake.order(run=Run(script="#!/bin/sh\n")))

    async def test_a_secret_is_nowhere_that_people_look(self, fake):
        order = fake.order()._replace(secret_env={"PASSWORD": "canary-4711"})

        handle = await fake.manager.submit(order)

        assert "canary-4711" not in f"{fake.cluster.jobs[order.key]} {handle}"
        assert any(b"bascule/secrets" in package for package in fake.cluster.packages.values())

    async def test_an_old_head_is_not_sent_what_it_does_not_know(self, tmp_path):
        class Old(RayWorld):
            version = "2.9.3"

        async with Old(tmp_path) as world:
            with pytest.raises(Refused, match="labelSelector"):
                await world.manager.submit(world.order(options={"labelSelector": {"zone": "a"}}))

    async def test_a_runtime_environment_that_cannot_be_had_is_a_failed_start(self, fake):
        _, handle = fake.order(), await fake.manager.submit(fake.order(run=Run(script="#!/bin/sh\n")))
        fake.cluster.packages.clear()
        await fake.start(handle)

        report = await fake.see(handle)

        assert (Phase.FAILED, Reason.START_FAILED) == (report.phase, report.reason)
        assert "Failed to download" in report.explanation


class TestAbsence:
    async def test_a_head_that_was_started_anew_is_told_from_one_that_never_had_the_job(self, fake):
        """
        The same id would be taken again: what tells the two apart is the name of the run.
        """
        before = (await fake.manager.probe()).instance
        order, handle = await fake.running()
        fake.cluster.start_anew()
        await fake.clock.sleep(10)

        found = await fake.manager.find(order.key, fake.now())
        seen = await fake.see(handle)

        assert before == handle.instance
        assert isinstance(found, Absent)
        assert isinstance(seen, Absent)
        assert before != found.instance == seen.instance == fake.cluster.session
        assert "has forgotten" in seen.evidence

    async def test_a_404_of_somebody_on_the_way_is_no_absence(self, fake):
        order, handle = await fake.running()
        for _ in range(2):
            fake.server.fault("GET .*/jobs/[^/]+$", "status", status=404, body="404 page not found")

        with pytest.raises(Unavailable):
            await fake.manager.find(order.key, fake.now())
        with pytest.raises(Unavailable):
            await fake.see(handle)

    async def test_an_absence_is_of_the_run_that_was_looked_at(self, fake):
        """
        A head that is started anew between two questions must not lend its name to what the one before said.
        """
        order = fake.order()
        await fake.manager.probe()
        fake.cluster.start_anew()

        found = await fake.manager.find(order.key, fake.now())

        assert fake.cluster.session == found.instance


class TestStopping:
    async def test_a_waiting_job_that_ray_only_claims_to_have_stopped_is_told_as_it_is(self, fake):
        order = fake.order(resources=Resources(cpus_per_task=64))
        handle = await fake.manager.submit(order)

        await fake.manager.cancel(handle)
        kept = await fake.see(handle)
        await fake.start(handle)
        let_go = await fake.see(handle)

        assert Phase.QUEUED is kept.phase
        assert "keeps a job that waits" in kept.explanation
        assert Phase.CANCELLED is let_go.phase
        assert 0 == fake.starts(order.key)

    async def test_what_was_not_to_be_stopped_is_not_called_so(self, fake):
        handle = await fake.manager.submit(fake.order(resources=Resources(cpus_per_task=64)))

        assert "waiting for resources" in (await fake.see(handle)).explanation

    async def test_a_job_that_still_runs_is_not_forgotten(self, fake):
        _, handle = await fake.running()

        with pytest.raises(Refused, match="non-terminal"):
            await fake.manager.forget(handle)

    async def test_a_record_that_we_did_not_make_is_not_removed(self, fake):
        """
        Who adopted a job watches it; its record is its owner's.
        """
        _, handle, _ = await fake.over()

        await fake.manager.forget(Handle(handle.id))

        assert handle.id in fake.cluster.jobs

    @pytest.mark.parametrize("id_", ["a/b", "a b", "../jobs", ""])
    async def test_an_id_that_would_poison_the_head_is_never_sent(self, fake, id_):
        before = fake.requests()

        for call in (fake.manager.cancel, lambda handle: fake.manager.observe([handle])):
            with pytest.raises(Refused):
                await call(Handle(id_))

        assert before == fake.requests()


class TestCrowd:
    async def test_many_jobs_among_five_thousand_are_one_list(self, fake):
        handles = [(await fake.running())[1] for _ in range(120)]
        crowd(fake)
        before = fake.requests()
        began = time.monotonic()

        seen = await fake.manager.observe(handles)

        assert 120 == len(seen.answers)
        assert 1 == fake.requests() - before
        assert time.monotonic() - began < 5

    async def test_few_jobs_among_five_thousand_are_asked_for_one_by_one(self, fake):
        """
        The first list shows the crowd; from then on it costs the head less to look at ours alone.
        """
        crowd(fake)
        handles = [(await fake.running())[1] for _ in range(3)]
        await fake.manager.observe(handles)
        lists = fake.server.requests["GET /api/jobs/"]

        seen = await fake.manager.observe(handles)

        assert {Phase.RUNNING} == {answer.phase for answer in seen.answers.values()}
        assert lists == fake.server.requests["GET /api/jobs/"]

    async def test_a_list_that_is_too_large_is_done_without(self, fake, monkeypatch):
        """
        All are told in the end, none is called absent meanwhile, and the list is not asked for again at once.
        """
        monkeypatch.setattr(head_module, "LARGEST_LIST", 10_000)
        handles = [(await fake.running())[1] for _ in range(40)]

        first, second = [await fake.manager.observe(handles) for _ in range(2)]

        assert {handle.id for handle in handles} == first.answers.keys() | second.answers.keys()
        assert all(isinstance(answer, Report) for seen in (first, second) for answer in seen.answers.values())
        assert 1 == fake.server.requests["GET /api/jobs/"]

    async def test_a_row_that_cannot_be_read_makes_no_job_absent(self, fake):
        """
        What a list did not say is asked for by itself.
        """
        handles = [(await fake.running())[1] for _ in range(3)]
        fake.cluster.jobs["raysubmit_1"] = replace_status(fake.cluster.jobs[handles[0].id])
        rows = [job.details() for job in fake.cluster.jobs.values() if job.id != handles[1].id]
        fake.server.fault("GET .*/jobs/$", "status", body=json.dumps(rows))

        seen = await fake.manager.observe(handles)

        assert [Phase.RUNNING] * 3 == [seen.answers[handle.id].phase for handle in handles]

    async def test_a_sweep_finds_ours_among_five_thousand(self, fake):
        crowd(fake)
        order, _ = await fake.running()

        assert [order.key] == [stray.key for stray in await fake.manager.sweep(INSTALLATION)]

    async def test_a_key_of_ours_that_bears_no_mark_of_ours_is_a_strangers(self, fake):
        order = fake.order()
        fake.cluster.submit({"submission_id": order.key, "entrypoint": "true"})

        assert [] == await fake.manager.sweep(INSTALLATION)
        assert not isinstance(await fake.manager.find(order.key, fake.now()), Found)


class TestProbe:
    async def test_a_ray_without_its_jobs_api_is_not_compatible(self, fake):
        fake.server.has_jobs_api = False

        health = await fake.manager.probe()

        assert (True, True, False) == (health.reachable, health.authenticated, health.compatible)
        assert "ray[default]" in health.hint

    async def test_a_missing_and_a_wrong_token_are_both_told(self, fake):
        fake.token_file.write_text("wrong-token-of-some-length")
        wrong = await fake.manager.probe()
        fake.manager._head._http._http._tokens = None
        missing = await fake.manager.probe()

        for health in (wrong, missing):
            assert (True, False) == (health.reachable, health.authenticated)
        assert "Invalid authentication token" in wrong.message
        assert "401" in missing.message

    async def test_a_token_is_never_repeated(self, fake):
        fake.token_file.write_text("canary-token-4711")
        fake.server.fault("POST .*/jobs/$", "status", status=403, body="Forbidden: canary-token-4711 is no token")

        with pytest.raises(Unauthorized) as caught:
            await fake.manager.submit(fake.order())

        assert "canary-token-4711" not in str(caught.value)

    async def test_the_run_of_the_head_has_a_name(self, fake):
        assert fake.cluster.session == (await fake.manager.probe()).instance

    async def test_a_target_without_an_address_is_a_mistake(self, fake):
        with pytest.raises(Mistake, match="has no `url`"):
            fake.connect("")


async def test_a_longer_walltime_is_the_cores_to_keep(fake):
    """
    Nothing has to be asked of Ray, which knows no walltime.
    """
    _, handle = await fake.running()
    before = fake.requests()

    await fake.manager.update(handle, replace(Resources()).walltime)

    assert before == fake.requests()
    assert not fake.manager.abilities.walltime
