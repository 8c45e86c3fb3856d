"""Faults on the way to Application Center: none of them changes what is known of a job, or is told for what it is not."""

from __future__ import annotations

import json

import pytest

from bascule.errors import Mistake, Refused, Unauthorized, Unavailable, Uncertain
from bascule.managers.lsf import connect
from bascule.model import (
    Absent,
    Array,
    CannotTell,
    Credentials,
    Files,
    Found,
    Input,
    Phase,
    SecretRef,
    Source,
    Target,
    TargetSpec,
)
from tests.fakes.lsf.cluster import US
from tests.fakes.lsf.server import PASSWORDS
from tests.managers.lsf.worlds import Place, QuickClock, target_at

pytestmark = pytest.mark.slow

GARBAGE = [
    b"",
    b"<html>proxy</html>",
    b'{"jobs": [',
    b'{"jobs": 7}',
    b"[1]",
    b"\xff\xfe",
    b"[" * 100_000,
    b"<jobs><job>",
    b'<!DOCTYPE a [<!ENTITY b "c">]><jobs>&b;</jobs>',
    b'{"message": "Welcome to the proxy"}',
]
LOOKS = r"(POST .*/jobs/getbasicinfo|GET .*/pacclient/jobs)"


class TestReads:
    @pytest.mark.parametrize("body", GARBAGE)
    async def test_what_cannot_be_read_is_no_news(self, world, body):
        _, handle = await world.running()
        world.server.fault(LOOKS, "body", body=body)

        with pytest.raises(Unavailable):
            await world.manager.observe([handle])

        assert Phase.RUNNING is (await world.see(handle)).phase

    @pytest.mark.parametrize("status", [301, 400, 401, 404, 408, 413, 500, 502, 504])
    async def test_no_status_is_news_about_a_job(self, new, status):
        """
        A 404 of some proxy above all: from Application Center itself it means that there is no such job.
        """
        _, handle = await new.running()
        new.server.fault(LOOKS, "status", status=status, body=b"no")
        if status == 401:
            new.server.fault(LOOKS, "status", status=status, body=b"no")

        with pytest.raises(Unavailable) as caught:
            await new.manager.observe([handle])

        assert isinstance(caught.value, Unauthorized) is (status == 401)
        assert Phase.RUNNING is (await new.see(handle)).phase

    async def test_a_list_that_counts_more_than_it_has_leaves_the_others_out(self, new):
        handles = [(await new.running())[1] for _ in range(2)]
        await new.manager.observe(handles)
        one = {"jobId": handles[0].id, "jobName": handles[0].key, "jobStatus": "RUN"}
        body = json.dumps({"@total": "2", "pseudoJob": one}).encode()
        new.manager._observer._known.clear()
        new.server.fault(LOOKS, "body", body=body)

        seen = await new.manager.observe(handles)

        assert {handles[0].id} == set(seen.answers)

    async def test_a_silent_history_leaves_a_forgotten_job_unanswered(self, new):
        _, handle, _ = await new.over()
        await new.purge(handle)
        new.manager._observer._known.clear()
        new.server.history_is_down = True

        with pytest.raises(Unavailable):
            await new.manager.observe([handle])

    async def test_a_silent_history_is_none_of_the_other_jobs_business(self, new):
        _, handle, _ = await new.over()
        await new.purge(handle)
        _, other = await new.running()
        new.manager._observer._known.clear()
        new.server.history_is_down = True

        seen = await new.manager.observe([handle, other])

        assert {other.id} == set(seen.answers)

    async def test_what_was_said_before_is_not_said_again_of_what_is_gone(self, new):
        """
        The job was seen to run, and is listed no more: whoever asks anew must not hear that it runs.
        """
        _, handle = await new.running()
        _, other = await new.running()
        await new.manager.observe([handle, other])
        with new.cluster.lock:
            new.cluster.purge(new.cluster.jobs_of(int(handle.id))[0])
        new.server.history_is_down = True

        seen = await new.manager.observe([handle, other])

        assert {other.id} == set(seen.answers)

    async def test_a_history_without_an_end_is_no_end(self, new):
        _, handle = await new.running()
        with new.cluster.lock:
            job = new.cluster.jobs_of(int(handle.id))[0]
            new.cluster.purge(job)

        assert isinstance(await new.see(handle), CannotTell)

    async def test_an_end_whose_files_cannot_be_had_is_told_all_the_same(self, new):
        """
        Three looks in vain, and LSF's own number has to do.
        """
        _, handle = await new.running()
        await new.finish(handle, exit_code=3)
        for _ in range(3):
            new.server.fault("POST .*/jobfiles/download", "status", status=500, body=b"")

        answers = []
        while not answers or answers[-1] is None or not answers[-1].is_over:
            answers.append((await new.manager.observe([handle])).answers.get(handle.id))
            await new.clock.sleep(0.1)

        assert 2 == answers.count(None)
        assert 3 == answers[-1].exit_code
        assert [] == new.server.faults

    async def test_one_bad_folder_does_not_hold_up_the_others(self, new):
        handles = [(await new.running())[1] for _ in range(2)]
        for handle in handles:
            await new.finish(handle, exit_code=4)
        for handle in handles:
            await new.becomes(handle, Phase.FAILED)

        assert {4} == {report.exit_code for report in (await new.manager.observe(handles)).answers.values()}


class TestSubmits:
    @pytest.mark.parametrize("body", [each for each in GARBAGE if b"message" not in each])
    async def test_an_answer_that_cannot_be_read_leaves_a_doubt(self, world, body):
        world.server.fault(world.patterns["submit"], "body", body=body)

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
    async def test_a_status_says_whether_it_may_have_happened(self, new, status, kind):
        new.server.fault("POST .*/jobs/submit", "status", status=status, body=b"{}")

        with pytest.raises(kind):
            await new.manager.submit(new.order())

    async def test_bsubs_no_is_a_refusal_in_its_own_words(self, world):
        with pytest.raises(Refused, match="nowhere: No such queue"):
            await world.manager.submit(world.order(options={"queue": "nowhere"}))

    async def test_id_0_is_no_id(self, new):
        """
        The bridge before us recorded it, and watched it for ever.
        """
        new.server.fault("POST .*/jobs/submit", "body", body=b'{"id": 0}')

        with pytest.raises(Uncertain):
            await new.manager.submit(new.order())

    async def test_two_jobs_of_one_name_are_both_told_once_the_line_was_cut(self, world):
        since = world.now()
        order = world.order(held=True)
        world.cut("submit", "after")
        with pytest.raises(Uncertain):
            await world.manager.submit(order)

        handle = await world.manager.submit(order)
        found = await world.manager.find(order.key, since)

        assert [True, True] == [match.held for match in found.matches]
        assert handle.id == found.matches[1].handle.id


class TestPurged:
    async def test_it_cannot_be_told_where_there_is_no_history(self, old):
        _, handle, _ = await old.over(exit_code=3)
        await old.purge(handle)
        old.manager._observer._known.clear()

        assert isinstance(await old.see(handle), CannotTell)

    async def test_it_is_told_by_its_folder_where_the_history_has_lost_it(self, new):
        _, handle, _ = await new.over(exit_code=3)
        await new.purge(handle)
        new.manager._observer._known.clear()
        new.server.fault("GET .*/jobhistory", "status", status=404, body=b'{"message": "No matching job found"}')

        report = await new.see(handle)

        assert (Phase.FAILED, 3, Source.MARKER) == (report.phase, report.exit_code, report.source)

    async def test_an_absence_is_proven_by_time_where_nothing_was_held(self, direct):
        order = direct.order()

        assert isinstance(await direct.manager.find(order.key, direct.now()), Absent)

    async def test_an_absence_after_that_time_cannot_be_proven(self, direct):
        since = direct.now()
        order = direct.order()
        await direct.clock.sleep(direct.cluster.clean_period / QuickClock.AHEAD + 1)

        assert isinstance(await direct.manager.find(order.key, since), CannotTell)

    async def test_a_restored_store_does_not_trust_the_hold(self, new):
        since = new.now()
        order = new.order()
        await new.clock.sleep(new.cluster.clean_period / QuickClock.AHEAD + 1)

        assert isinstance(await new.manager.find(order.key, since), Absent)
        assert isinstance(await new.manager.find(order.key, since, may_have_run=True), CannotTell)

    async def test_an_absence_is_looked_for_twice(self, new):
        """
        An array's name goes on behind its key.
        """
        order = new.order(array=Array("1-3"))
        handle = await new.manager.submit(order)
        new.server.fault(r"GET .*/ws/jobs\?jobname=[a-z0-9-]+$", "status", status=404, body=b'{"message": "none"}')

        found = await new.manager.find(order.key, new.now())

        assert isinstance(found, Found)
        assert handle.id == found.matches[0].handle.id


class TestUploads:
    @pytest.fixture
    def small(self, monkeypatch):
        monkeypatch.setattr("bascule.managers.lsf.submitting.TOGETHER", 10)
        monkeypatch.setattr("bascule.managers.lsf.submitting.PART", 4)

    async def test_a_large_input_follows_in_parts_and_is_whole(self, new, small, tmp_path):
        files = Files(inputs=(Input("a", content="0123456789"), Input("b", content="abcdefghijk")))
        order = new.order(held=True, files=files)

        handle = await new.manager.submit(order)

        folder = new.cluster.jobs_of(int(handle.id))[0].folder
        assert ("0123456789", "abcdefghijk") == ((folder / "a").read_text(), (folder / "b").read_text())
        assert 3 == new.server.requests["POST /ws/jobfiles/upload/N"]

    @pytest.mark.parametrize("when", ["before", "after"])
    async def test_an_upload_that_is_cut_takes_the_job_back(self, new, small, when):
        order = new.order(held=True, files=Files(inputs=(Input("b", content="abcdefghijk"),)))
        new.server.fault("POST .*/jobfiles/upload/.*chunkid=2", f"cut {when}")

        with pytest.raises(Unavailable):
            await new.manager.submit(order)

        found = await new.manager.find(order.key, new.now())
        assert [Phase.CANCELLED] == [match.report.phase for match in found.matches]

    async def test_a_job_that_could_not_be_taken_back_does_not_run_without_its_inputs(self, new, small):
        order = new.order(held=True, files=Files(inputs=(Input("b", content="abcdefghijk"),)))
        new.server.fault("POST .*/jobfiles/upload/.*chunkid=2", "cut before")
        new.server.fault("POST .*/userCmd", "cut before")
        with pytest.raises(Uncertain):
            await new.manager.submit(order)
        handle = (await new.manager.find(order.key, new.now())).matches[0].handle

        await new.manager.release(handle)
        with new.cluster.lock:
            new.cluster.start(new.cluster.jobs_of(int(handle.id))[0])
        report = await new.becomes(handle, Phase.FAILED)

        assert "StartFailed" == report.reason
        assert "b has not come whole" in report.explanation
        assert 0 == new.starts(order.key)

    async def test_a_submit_that_is_cut_in_the_middle_of_its_files_made_no_job(self, new):
        order = new.order(files=Files(inputs=(Input("b", content="x" * 200_000),)))
        new.cut("submit", "before")

        with pytest.raises(Uncertain):
            await new.manager.submit(order)

        assert isinstance(await new.manager.find(order.key, new.now()), Absent)


class TestTargets:
    @pytest.mark.parametrize(
        ("spec", "word"),
        [
            ({"url": None}, "has no `url`"),
            ({"credentials": Credentials(user="alice")}, "credentials` with a password"),
            ({"credentials": Credentials(env="X")}, "credentials.user"),
            ({"options": {"quue": "x"}}, "quue"),
            ({"options": {"extra": "--bad"}}, "--bad"),
            ({"url": "ftp://x"}, "no address of an API"),
        ],
    )
    def test_a_wrong_one_is_told_before_anything_is_sent(self, spec, word):
        whole = {"url": "https://x:8443", "credentials": Credentials(user="alice", env="X"), **spec}

        with pytest.raises(Mistake) as caught:
            connect(Target("default", "hpc", "uid", TargetSpec("lsf", **whole)), "default", Place(QuickClock()))

        assert word in f"{caught.value} {caught.value.problems}"

    async def test_the_context_may_be_left_out(self, new):
        manager = connect(target_at(new.server.url.removesuffix("/platform")), "default", Place(new.clock))

        assert (await manager.probe()).compatible
        await manager.aclose()

    async def test_a_wrong_address_is_told_as_such(self, new):
        manager = connect(target_at(new.server.url + "/elsewhere"), "default", Place(new.clock))

        health = await manager.probe()

        assert not health.compatible
        assert "url" in health.hint
        await manager.aclose()

    @pytest.mark.parametrize("user", [US, None])
    async def test_a_secret_is_read_by_its_keys(self, new, user):
        """
        The user's name lies beside the password, unless the target says it.
        """
        asked = []

        class Platform(Place):
            async def secret(self, namespace, name, key):
                asked.append((namespace, name, key))
                return {"password": PASSWORDS[US], "user": f"{US}\n"}[key]

        spec = TargetSpec(
            "lsf", url=new.server.url, credentials=Credentials(user=user, secret=SecretRef("s", "JobNamespace"))
        )
        manager = connect(Target("hub", "hpc", "uid", spec), "team", Platform(new.clock))

        assert (await manager.probe()).authenticated
        keys = {"password"} if user else {"password", "user"}
        assert {("team", "s", key) for key in keys} == set(asked)
        await manager.aclose()
