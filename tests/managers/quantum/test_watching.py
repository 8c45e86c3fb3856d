"""Watching jobs of a quantum service: its words, their ends, what they leave, and their sessions."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from bascule.errors import Unavailable
from bascule.gateways.quantum.records import CANCELLED
from bascule.model import Absent, Handle, Phase, Reason
from tests.managers.quantum.worlds import packed, sampled


async def lines(world, handle):
    chunk = await world.manager.read(handle, "output", 0, 1 << 20)
    return [json.loads(line) for line in chunk.data.splitlines()]


class TestEnds:
    async def test_a_job_that_ran_too_long_has_timed_out(self, world):
        _, handle = await world.running()
        world.service.job(handle.id).end(CANCELLED, world.clock.timestamp(), "Ran too long", 1305)

        report = await world.see(handle)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (report.phase, report.reason)

    async def test_an_older_service_says_so_in_its_word(self, world):
        _, handle = await world.running()
        job = {"id": handle.id, "status": "Cancelled - Ran too long", "created": "2026-11-30T12:00:00Z"}
        world.weather.next(f"GET .*/jobs/{handle.id}", "instead", status=200, body=json.dumps(job))

        report = await world.see(handle)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (report.phase, report.reason)

    @pytest.mark.parametrize("word", ["QUEUED", "queued", "Queued"])
    async def test_the_case_of_a_word_means_nothing(self, world, word):
        handle = await world.manager.submit(world.order())
        await world.say(handle, word)

        assert Phase.QUEUED is (await world.see(handle)).phase

    async def test_a_failure_is_told_in_the_services_words(self, world):
        _, handle = await world.running()
        world.service.finish(handle.id, failed="The circuit is not made for it", code=1517)

        report = await world.see(handle)
        log = await world.manager.read(handle, "error", 0, 1000)

        assert (Phase.FAILED, "ProgramFailed", None) == (report.phase, report.reason, report.exit_code)
        assert "The circuit is not made for it (code 1517)" == report.explanation
        assert b"computed" in log.data

    async def test_a_job_that_was_deleted_at_the_service_is_absent(self, world):
        _, handle, _ = await world.over()
        world.service.delete(handle.id)

        assert isinstance(await world.see(handle), Absent)

    async def test_a_waiting_job_tells_its_place_in_the_queue(self, world):
        handles = [await world.manager.submit(world.order()) for _ in range(3)]

        report = (await world.manager.observe(handles)).answers[handles[2].id]

        assert "waits for `aer`, at place 3 of its queue" == report.explanation

    async def test_cancelling_what_is_over_at_the_service_is_no_error(self, world):
        _, handle, _ = await world.over()

        await world.manager.cancel(handle)

        assert 1 == world.weather.count("POST .*/cancel")


class TestCost:
    async def test_those_that_are_over_are_asked_for_one_by_one_and_once(self, world):
        handles = [await world.manager.submit(world.order()) for _ in range(10)]
        for handle in handles[:4]:
            await world.start(handle)
            await world.finish(handle)
        first = await world.manager.observe(handles)
        before = world.requests()

        second = await world.manager.observe(handles)

        assert 4 == sum(answer.is_over for answer in first.answers.values())
        assert first.answers.keys() == second.answers.keys()
        assert world.requests() - before == 1 + 4

    async def test_a_list_of_several_pages_is_read_to_its_end(self, world):
        handles = [await world.manager.submit(world.order()) for _ in range(203)]

        seen = await world.manager.observe(handles)

        assert 203 == len(seen.answers)


class TestResults:
    async def test_counts_arrays_and_the_services_own_encoding_are_kept(self, world):
        _, handle = await world.running()
        results = sampled({"00": 30, "11": 70})
        world.service.finish(handle.id, results=results)

        report = await world.see(handle)
        folder = world.folder / "home" / "quantum" / "results" / handle.key

        assert [{"pub": 0, "meas": {"00": 30, "11": 70}}] == await lines(world, handle)
        assert results == (folder / "service.json").read_text()
        assert (folder / "pub0-meas.npy").read_bytes().startswith(b"\x93NUMPY")
        assert {"00": 30, "11": 70} == json.loads((folder / "counts.json").read_text())[0]["meas"]
        assert str(folder) in report.explanation

    async def test_a_folder_of_the_users_keeps_its_results_when_the_job_is_forgotten(self, world, tmp_path):
        world.manager = world.connect(world.url, root=tmp_path / "mine")
        _, handle, _ = await world.over()

        await world.manager.forget(handle)

        assert (tmp_path / "mine" / handle.key / "results.jsonl").is_file()

    async def test_results_that_are_not_ready_keep_a_job_from_being_over(self, world):
        _, handle = await world.running()
        await world.finish(handle)
        world.weather.next("GET .*/results", "instead", status=404)

        first, second = await world.see(handle), await world.see(handle)

        assert (Phase.SUCCEEDED, False) == (first.phase, first.is_over)
        assert second.is_over

    async def test_results_that_never_come_keep_nobody_for_ever(self, world):
        """
        The job is over after some tries, and whoever reads later asks again.
        """
        _, handle = await world.running()
        await world.finish(handle)
        for _ in range(5):
            world.weather.next("GET .*/results", "instead", status=500)

        reports = [await world.see(handle) for _ in range(5)]

        assert [False] * 4 + [True] == [report.is_over for report in reports]
        assert [{"pub": 0, "meas": {"00": 50, "11": 50}}] == await lines(world, handle)

    async def test_huge_results_are_not_read_to_their_end(self, world):
        _, handle = await world.running()
        await world.finish(handle)
        world.weather.next("GET .*/results", "endless")
        world.way.is_short = True

        report = await world.see(handle)

        assert not report.is_over
        assert "more than" in report.explanation

    async def test_results_of_a_form_that_nobody_knows_are_kept_as_they_came(self, world):
        _, handle = await world.running()
        world.service.finish(handle.id, results='{"answer": 42}')

        report = await world.see(handle)
        [line] = await lines(world, handle)

        assert report.is_over
        assert "service.json" == line["file"]
        assert "undecoded" in line

    @pytest.mark.parametrize("value", ["no base64", packed(b"\0" * 7, (100, 1)), packed(b"12345678", (1,), "|O")])
    async def test_a_broken_array_breaks_nothing_else(self, world, value):
        _, handle = await world.running()
        whole = json.loads(sampled({"0": 1}))
        bits = whole["__value__"]["pub_results"][0]["__value__"]["data"]["__value__"]["fields"]["meas"]
        bits["__value__"]["array"]["__value__"] = value
        world.service.finish(handle.id, results=json.dumps(whole))

        report = await world.see(handle)

        assert report.is_over
        assert "undecoded" in (await lines(world, handle))[0]

    async def test_a_full_disk_is_told_and_loses_nothing(self, world, tmp_path):
        (tmp_path / "file").write_text("in the way")
        world.manager = world.connect(world.url, root=tmp_path / "file")
        _, handle = await world.running()
        await world.finish(handle)

        with pytest.raises(Unavailable, match="cannot be written"):
            await world.manager.read(handle, "output", 0, 10)


class TestSessions:
    async def test_a_session_of_its_own_is_closed_when_the_job_is_over(self, world):
        handle = await world.manager.submit(world.order(options={"session": {"maxTime": "10m"}}))
        [session] = world.service.sessions.values()
        opened = session.accepts
        await world.start(handle)
        await world.finish(handle)
        report = await world.see(handle)

        assert opened
        assert (600, "dedicated") == (session.max_ttl, session.mode)
        assert report.is_over
        assert not session.accepts

    @pytest.mark.parametrize("how", ["failed", "cancelled"])
    async def test_it_is_closed_in_every_ending(self, world, how):
        handle = await world.manager.submit(world.order(options={"session": {"mode": "batch"}}))
        [session] = world.service.sessions.values()
        if how == "cancelled":
            await world.manager.cancel(handle)
        else:
            world.service.finish(handle.id, failed="no")

        await world.see(handle)

        assert not session.accepts

    async def test_it_is_closed_where_no_job_came_of_it(self, world):
        world.weather.next(
            r"POST .*/jobs$", "instead", status=400, body='{"errors": [{"code": 1200, "message": "no"}]}'
        )

        with pytest.raises(Exception, match="no"):
            await world.manager.submit(world.order(options={"session": {}}))

        [session] = world.service.sessions.values()
        assert not session.accepts

    async def test_it_is_closed_by_whoever_finds_the_job_by_its_key(self, world):
        order = world.order(options={"session": {}})
        world.cut("submit", "after")
        with pytest.raises(Exception, match="closed"):
            await world.manager.submit(order)
        found = await world.manager.find(order.key, world.now() - timedelta(minutes=1))
        handle = found.matches[0].handle
        await world.finish(handle)

        await world.see(handle)

        [session] = world.service.sessions.values()
        assert not session.accepts

    async def test_it_is_closed_where_the_job_was_deleted_at_the_service(self, world):
        handle = await world.manager.submit(world.order(options={"session": {}}))
        await world.finish(handle)
        world.service.delete(handle.id)

        await world.see(handle)

        [session] = world.service.sessions.values()
        assert not session.accepts

    async def test_jobs_that_name_a_session_share_it_until_the_last_is_over(self, world):
        named = {"session": {"name": "loop"}}
        first = await world.manager.submit(world.order(options=named))
        await world.finish(first)
        await world.see(first)
        second = await world.manager.submit(world.order(options={"session": {"name": "loop", "last": True}}))
        [session] = world.service.sessions.values()
        still_open = session.accepts
        await world.finish(second)
        await world.see(second)

        assert {session.id} == {world.service.job(handle.id).session for handle in (first, second)}
        assert still_open
        assert not session.accepts

    async def test_a_session_that_the_service_closed_is_opened_anew(self, world):
        named = {"session": {"name": "loop"}}
        await world.manager.submit(world.order(options=named))
        [session] = world.service.sessions.values()
        world.service.close(session.id)

        handle = await world.manager.submit(world.order(options=named))

        assert 2 == len(world.service.sessions)
        assert session.id != world.service.job(handle.id).session

    async def test_a_session_that_closes_under_a_submit_is_no_end_of_the_job(self, world):
        body = '{"errors": [{"code": 1217, "message": "Session has been closed."}]}'
        world.weather.next(r"POST .*/jobs$", "instead", status=400, body=body)

        with pytest.raises(Unavailable, match="has closed session"):
            await world.manager.submit(world.order(options={"session": {"name": "loop"}}))

    async def test_a_session_that_nobody_uses_any_more_is_swept(self, world):
        """
        Its last job never came; it would be paid for until the service's own limit.
        """
        handle = await world.manager.submit(world.order(options={"session": {"name": "loop"}}))
        [session] = world.service.sessions.values()
        await world.clock.sleep(1000)
        await world.manager.sweep("tests2")
        while_it_waits = session.accepts
        await world.finish(handle)
        await world.manager.sweep("tests2")

        assert while_it_waits
        assert not session.accepts

    async def test_a_session_of_another_backend_is_not_joined(self, world):
        await world.manager.submit(world.order(options={"session": {"name": "loop"}}))

        with pytest.raises(Exception, match="not a batch one"):
            await world.manager.submit(world.order(options={"session": {"name": "loop", "mode": "batch"}}))


async def test_a_job_is_adopted_by_its_id_with_what_it_left(world):
    _, handle, _ = await world.over()

    alone = Handle(handle.id)
    report = await world.see(alone)

    assert Phase.SUCCEEDED is report.phase
    assert 1 == len(await lines(world, alone))
