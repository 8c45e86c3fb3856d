"""Faults on the way to slurmrestd: none of them changes what is known of a job, or is told for what it is not."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

from bascule.errors import Mistake, Refused, Unauthorized, Unavailable, Uncertain
from bascule.managers.slurm import connect
from bascule.managers.slurm.credentials import claims_of
from bascule.model import Absent, Array, CannotTell, Duration, Found, Handle, Phase, Reason, Report, Resources, Run
from tests.managers.slurm.test_contract import MiddleWorld, NewWorld, OldRememberingWorld, OldWorld
from tests.managers.slurm.worlds import TOKEN_NAME, HandClock, Place, target_at

WORLDS = [NewWorld, MiddleWorld, OldWorld, OldRememberingWorld]
GARBAGE = [b"", b"<html>proxy</html>", b'{"jobs": [', b'{"jobs": 7}', b"[1]", b"\xff\xfe", b"[" * 100_000]


class UnsharedWorld(OldWorld):
    """Held, with neither accounting nor a folder that both sides see."""

    submission = "Held"


@pytest.fixture(params=WORLDS, ids=lambda world: world.__name__)
async def world(request, tmp_path):
    async with request.param(tmp_path) as world:
        yield world


@pytest.fixture
async def new(tmp_path):
    async with NewWorld(tmp_path) as world:
        yield world


class TestReads:
    @pytest.mark.parametrize("body", GARBAGE)
    async def test_what_cannot_be_read_is_no_news(self, world, body):
        _, handle = await world.running()
        world.server.fault("GET .*/slurm/.*/job", "body", body=body)

        with pytest.raises((Unavailable, Refused)):
            await world.manager.observe([handle])

        assert Phase.RUNNING is (await world.see(handle)).phase

    @pytest.mark.parametrize("status", [400, 401, 404, 408, 413, 429, 500, 502, 503, 504, 511, 301])
    async def test_no_status_is_news_about_a_job(self, world, status):
        _, handle = await world.running()
        world.server.fault("GET .*/slurm/.*/job", "status", status=status, body=b"no", headers={"Retry-After": "0"})

        with pytest.raises((Unavailable, Refused)) as caught:
            await world.manager.observe([handle])

        assert isinstance(caught.value, Unauthorized) is (status == 401) or status == 511
        if status == 429:
            assert 0 == caught.value.retry_after
        assert Phase.RUNNING is (await world.see(handle)).phase

    async def test_an_endless_answer_ends(self, new, monkeypatch):
        monkeypatch.setattr("bascule.managers.slurm.rest.LARGEST_ANSWER", 1 << 20)
        _, handle = await new.running()
        new.server.fault("GET .*/slurm/.*/job", "endless")

        with pytest.raises(Unavailable):
            await new.manager.observe([handle])

    async def test_no_changes_is_not_no_jobs(self, world):
        """
        An empty list with the warning that nothing changed must never end a job.
        """
        _, handle = await world.running()
        body = b'{"jobs": [], "errors": [], "warnings": [{"description": "No job changes since update_time[1]"}]}'
        world.server.fault("GET .*/jobs$", "body", body=body)

        with pytest.raises(Unavailable):
            await world.manager.find(handle.key, world.now())

    async def test_a_slurmctld_that_is_away_for_half_an_hour_is_no_news(self, world):
        """
        Every question fails, none changes a phase; afterwards each job is what it has become.
        """
        order, handle = await world.running()
        other = await world.manager.submit(world.order("other"))
        await world.start(other)
        world.cluster.is_down = True

        for _ in range(30):
            await world.clock.sleep(60)
            with pytest.raises(Unavailable):
                await world.manager.observe([handle, other])
            with pytest.raises(Unavailable):
                await world.manager.find(order.key, world.now())
            with pytest.raises(Uncertain):
                await world.manager.submit(world.order("third"))
        health = await world.manager.probe()
        world.cluster.is_down = False
        await world.finish(other, exit_code=3)

        assert (False, "slurmctld") == (health.reachable, health.checks[-1].name)
        assert Phase.RUNNING is (await world.see(handle)).phase
        assert 3 == (await world.see(other)).exit_code
        assert 2 == len(world.cluster.jobs())

    async def test_out_of_memory_is_told_from_live_and_from_history(self, new):
        _, handle = await new.running()
        new.cluster.finish(int(handle.id), signal=9, word="OUT_OF_MEMORY")

        live = await new.see(handle)
        await new.purge(handle)
        past = await new.see(handle)

        assert [(Phase.FAILED, Reason.OUT_OF_MEMORY)] * 2 == [(live.phase, live.reason), (past.phase, past.reason)]

    async def test_a_silent_database_leaves_a_forgotten_job_unanswered(self, new):
        _, handle, _ = await new.over()
        await new.purge(handle)
        new.cluster.database_is_down = True

        with pytest.raises(Unavailable):
            await new.manager.observe([handle])

    async def test_a_row_without_an_end_is_no_end(self, new):
        _, handle = await new.running()
        new.cluster.past.append(new.cluster.live.pop(int(handle.id)))
        new.manager._observer.forget(handle)

        assert isinstance(await new.see(handle), CannotTell)


class TestSubmits:
    @pytest.mark.parametrize("body", GARBAGE)
    async def test_an_answer_that_cannot_be_read_leaves_a_doubt(self, world, body):
        world.server.fault("POST .*/job/submit", "body", body=body)

        with pytest.raises(Uncertain):
            await world.manager.submit(world.order())

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (500, Uncertain),
            (502, Uncertain),
            (504, Uncertain),
            (429, Unavailable),
            (503, Unavailable),
            (400, Refused),
            (302, Uncertain),
        ],
    )
    async def test_a_status_says_whether_it_may_have_happened(self, world, status, kind):
        world.server.fault("POST .*/job/submit", "status", status=status, body=b"no")

        with pytest.raises(kind):
            await world.manager.submit(world.order())

    async def test_a_number_of_slurm_s_is_a_refusal_whatever_the_status(self, world):
        with pytest.raises(Refused, match="Invalid partition") as caught:
            await world.manager.submit(world.order(options={"partition": "nosuch"}))

        assert "`main`" in caught.value.hint
        assert [] == world.cluster.jobs()

    async def test_an_answer_without_an_id_leaves_a_doubt(self, world):
        world.server.fault("POST .*/job/submit", "body", body=b'{"errors": []}')

        with pytest.raises(Uncertain):
            await world.manager.submit(world.order())

    async def test_a_field_that_was_dropped_takes_the_job_back(self, new):
        """
        A misspelt limit must not vanish with a warning.
        """
        order = new.order(options={"mcsLabel": "x"}, held=True)

        with pytest.raises(Refused, match="unknown field"):
            await new.manager.submit(order)

        assert all(job.is_over for job in new.cluster.jobs())

    async def test_a_job_that_pends_for_ever_says_why(self, world):
        order = world.order(options={"partition": "short"}, resources=Resources(walltime=Duration(hours=2)))
        handle = await world.manager.submit(order)

        assert "longer than its partition allows" in (await world.see(handle)).explanation


class TestIds:
    async def test_a_crash_that_gives_an_id_again(self, world):
        order = world.order(held=True)
        handle = await world.manager.submit(order)
        world.cluster.crash(forgets=10)
        other = await world.manager.submit(world.order("other", held=True))

        assert handle.id == other.id
        assert not isinstance(await world.see(handle), Report)
        with pytest.raises(Refused, match="not ours"):
            await world.manager.release(handle)
        assert world.cluster.live[int(other.id)].held

    async def test_the_end_of_one_is_not_told_of_the_other_of_the_same_id(self, world):
        """
        Both are ours and both are asked for: one was forgotten, and the other got its id.
        """
        first = await world.manager.submit(world.order())
        world.cluster.crash(forgets=10)
        second = await world.manager.submit(world.order("other"))
        await world.start(second)
        await world.finish(second)
        assert first.id == second.id

        for _ in range(2):
            assert Phase.SUCCEEDED is (await world.see(second)).phase
            assert not isinstance(await world.see(first), Report)

    async def test_a_running_job_that_its_user_gave_another_name_is_not_lost(self, world):
        _, handle = await world.running()
        world.cluster.live[int(handle.id)].desc["name"] = "other"

        report = await world.see(handle)
        await world.manager.cancel(handle)

        assert Phase.RUNNING is report.phase
        assert Phase.CANCELLED is (await world.see(handle)).phase

    async def test_what_goes_into_one_file_is_not_shown_as_output_and_error(self, new):
        script = "#!/bin/sh\n#SBATCH -o both.log -e both.log\ntrue\n"
        _, handle = await new.running(run=Run(script=script), output=None)
        await new.write(handle, b"once")

        output = await new.manager.read(handle, "output", 0, 100)
        error = await new.manager.read(handle, "error", 0, 100)

        assert (b"once", b"", 0) == (output.data, error.data, error.size)

    async def test_a_requeued_job_is_its_latest_run(self, new):
        order, handle = await new.running()
        new.cluster.requeue(int(handle.id))

        report = await new.see(handle)
        found = await new.manager.find(order.key, new.now())

        assert (Phase.QUEUED, 1) == (report.phase, report.restarts)
        assert isinstance(found, Found)
        assert 1 == len(found.matches)

    async def test_a_held_job_that_may_have_been_released_can_have_ended_unseen(self, tmp_path):
        """
        After a restored backup a hold proves nothing; without accounting nobody remembers.
        """
        async with UnsharedWorld(tmp_path) as world:
            long_ago = world.now()
            await world.clock.sleep(86_400)

            held = await world.manager.find(world.order().key, long_ago)
            doubtful = await world.manager.find(world.order().key, long_ago, may_have_run=True)

        assert isinstance(held, Absent)
        assert isinstance(doubtful, CannotTell)

    async def test_an_id_that_is_none(self, world):
        assert isinstance(await world.see(Handle("abc")), Absent)
        with pytest.raises(Refused):
            await world.manager.cancel(Handle("../jobs"))


class TestSigningIn:
    async def test_every_kind_of_wrong_token_is_told(self, world):
        good = os.environ[TOKEN_NAME]
        try:
            os.environ[TOKEN_NAME] = "h.eyJzdW4iOiJhbGljZSIsImV4cCI6MX0.s"
            with pytest.raises(Unauthorized, match="expired at 1970"):
                await world.manager.submit(world.order())
            os.environ[TOKEN_NAME] = "h.eyJzdW4iOiJib2IifQ.s"
            with pytest.raises(Unauthorized, match="is a token of `bob`") as caught:
                await world.manager.observe([Handle("1")])
            assert "eyJz" not in f"{caught.value} {caught.value.hint}"
        finally:
            os.environ[TOKEN_NAME] = good
        assert [] == world.cluster.jobs()

    @pytest.mark.parametrize(
        "change",
        [{"url": None}, {"url": "ftp://x:1"}, {"options": {"partitoin": "x"}}, {"options": {"settleSeconds": "soon"}}],
    )
    def test_a_wrong_target_is_a_mistake_at_once(self, change):
        from msgspec.structs import replace

        target = target_at("http://127.0.0.1:1")
        target = replace(target, spec=replace(target.spec, **change))

        with pytest.raises(Mistake):
            connect(target, "default", Place(HandClock()))

    def test_claims_are_read_with_care(self):
        assert claims_of("nonsense").sun is None
        assert claims_of("a.!!!.c").sun is None
        assert "alice" == claims_of("h.eyJzdW4iOiJhbGljZSJ9.s").sun


class TestBackingOff:
    @pytest.mark.parametrize("call", ["observe", "submit", "probe"])
    async def test_while_the_server_wants_to_be_left_alone_nothing_is_asked_of_it(self, world, call):
        _, handle = await world.running()
        world.server.fault(world.patterns[call], "status", status=429, body=b"no", headers={"Retry-After": "600"})
        await asked(world, call, handle)
        world.server.requests.clear()

        for later in ("observe", "submit", "release", "cancel", "find", "sweep", "probe"):
            await asked(world, later, handle)

        assert 0 == world.server.requests.total()

    async def test_slurm_s_own_back_off_is_obeyed_as_well(self, world):
        _, handle = await world.running()
        body = b'{"jobs": [], "errors": [{"error_number": 1804, "error": "SLURMCTLD_COMMUNICATIONS_BACKOFF"}]}'
        world.server.fault("GET .*/slurm/.*/job", "body", body=body)

        with pytest.raises(Unavailable, match="asks to be left alone") as caught:
            await world.manager.observe([handle])
        world.server.requests.clear()
        await asked(world, "submit", handle)
        await asked(world, "probe", handle)

        assert 10 == caught.value.retry_after
        assert 0 == world.server.requests.total()


async def asked(world, call, handle):
    """Ask something of *world*'s manager, whatever comes of it."""
    manager = world.manager
    deeds = {
        "observe": lambda: manager.observe([handle]),
        "submit": lambda: manager.submit(world.order("another")),
        "release": lambda: manager.release(handle),
        "cancel": lambda: manager.cancel(handle),
        "find": lambda: manager.find(handle.key, world.now()),
        "sweep": lambda: manager.sweep("here"),
        "probe": manager.probe,
    }
    with suppress(Unavailable):
        return await deeds[call]()


class TestCost:
    async def test_a_job_that_was_submitted_just_now_is_released_without_a_look(self, new):
        handle = await new.manager.submit(new.order(held=True))
        new.server.requests.clear()

        await new.manager.release(handle)

        assert {"POST /slurm/v0.0.45/job/N": 1} == dict(new.server.requests)

    async def test_a_while_later_it_is_looked_at_first(self, new, monkeypatch):
        monkeypatch.setattr("bascule.managers.slurm.changing.JUST_NOW", 0.0)
        handle = await new.manager.submit(new.order(held=True))
        new.server.requests.clear()

        await new.manager.release(handle)

        look, past = "GET /slurm/v0.0.45/job/N", "GET /slurmdb/v0.0.45/jobs"
        assert {look: 1, past: 1, "POST /slurm/v0.0.45/job/N": 1} == dict(new.server.requests)

    async def test_a_thousand_running_jobs_are_one_small_request_a_poll(self, new):
        handles = [await new.manager.submit(new.order(f"job{n}")) for n in range(120)]
        for handle in handles:
            new.cluster.start(int(handle.id))
        seen = await new.manager.observe(handles)
        new.server.requests.clear()
        new.server.bytes_out = 0

        for _ in range(10):
            await new.clock.sleep(30)
            seen = await new.manager.observe(handles, seen.cursor)
            assert seen.unchanged

        assert {"GET /slurm/v0.0.45/jobs/state": 10} == dict(new.server.requests)
        assert new.server.bytes_out < 10 * 120 * 100

    async def test_many_jobs_are_one_request_unless_the_cluster_has_far_more(self, new, monkeypatch):
        monkeypatch.setattr("bascule.managers.slurm.cluster.IDS_AT_ONCE", 5)
        handles = [await new.manager.submit(new.order(f"job{n}")) for n in range(12)]
        array = await new.manager.submit(new.order("array", array=Array("0-2")))
        for handle in handles:
            new.cluster.start(int(handle.id))
        seen = await new.manager.observe([*handles, array])
        assert {handle.id for handle in (*handles, array)} == set(seen.answers)

        new.server.requests.clear()
        await new.manager.observe(handles, seen.cursor)
        assert {"GET /slurm/v0.0.45/jobs/state": 1} == dict(new.server.requests)

        monkeypatch.setattr("bascule.managers.slurm.cluster.MOST_OTHERS", 1)
        await new.manager.observe(handles, seen.cursor)
        assert 1 + 3 == new.server.requests.total()

    async def test_only_what_moved_is_read_whole_and_told(self, new):
        handles = [await new.manager.submit(new.order(f"job{n}")) for n in range(50)]
        seen = await new.manager.observe(handles)
        new.cluster.start(int(handles[3].id))
        new.server.requests.clear()

        seen = await new.manager.observe(handles, seen.cursor)

        assert {handles[3].id} == set(seen.answers)
        assert 2 == new.server.requests.total()

    async def test_22_05_is_asked_on_condition(self, tmp_path):
        async with OldWorld(tmp_path) as world:
            handles = [await world.manager.submit(world.order(f"job{n}")) for n in range(50)]
            await world.clock.sleep(5)
            seen = await world.manager.observe(handles)
            world.server.requests.clear()
            world.server.bytes_out = 0

            for _ in range(10):
                await world.clock.sleep(30)
                seen = await world.manager.observe(handles, seen.cursor)
                assert seen.unchanged
            assert 0 == world.server.bytes_out
            world.cluster.start(int(handles[7].id))
            seen = await world.manager.observe(handles, seen.cursor)

        assert Phase.RUNNING is seen.answers[handles[7].id].phase
        assert 11 <= world.server.requests.total() <= 12

    async def test_many_forgotten_jobs_are_one_question_to_the_history(self, new):
        handles = [await new.manager.submit(new.order(f"job{n}")) for n in range(30)]
        for handle in handles:
            new.cluster.start(int(handle.id))
            new.cluster.finish(int(handle.id))
        await new.clock.sleep(400)
        new.server.requests.clear()

        seen = await new.manager.observe(handles)

        assert all(answer.phase is Phase.SUCCEEDED for answer in seen.answers.values())
        assert 1 == new.server.requests["GET /slurmdb/v0.0.45/jobs"]
