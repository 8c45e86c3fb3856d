"""The contract of managers: what is said of jobs, and what is not."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from bascule.model import Absent, CannotTell, Duration, Handle, Phase, Reason, Report, Resources, Source
from tests.contracts.owed import owed_if


class Observing:
    """One request for many jobs, each told apart."""

    async def test_a_running_job_is_running(self, world):
        _, handle = await world.running()

        report = await world.see(handle)

        assert Phase.RUNNING is report.phase
        assert report.exit_code is None
        assert not report.is_over

    @owed_if("world.tells_starts")
    async def test_a_start_is_told(self, world):
        _, handle = await world.running()

        assert (await world.see(handle)).started_at is not None

    @owed_if("world.waits")
    async def test_a_waiting_job_is_queued(self, world):
        handle = await world.manager.submit(world.order())

        report = await world.see(handle)

        assert Phase.QUEUED is report.phase
        assert report.started_at is None

    async def test_many_are_asked_for_in_one_call_and_only_they_are_answered(self, world):
        """
        An answer covers what was asked, nobody else's jobs.
        """
        before = world.now()
        handles = [await world.manager.submit(world.order(f"job{n}")) for n in range(6)]

        seen = await world.manager.observe(handles[:5])

        assert {handle.id for handle in handles[:5]} == set(seen.answers)
        assert all(isinstance(answer, Report) for answer in seen.answers.values())
        assert before <= seen.as_of <= world.now()

    @owed_if("batch", "world.requests")
    async def test_many_cost_few_requests(self, world):
        """
        A manager is asked about all jobs of a target at once, or a thousand jobs would be a thousand questions.
        """
        handles = [await world.manager.submit(world.order(f"job{n}")) for n in range(20)]
        first = await world.manager.observe(handles)
        before = world.requests()

        await world.manager.observe(handles, first.cursor)

        assert 20 == len(first.answers)
        assert world.requests() - before <= 4

    async def test_asking_for_nothing_is_answered_with_nothing(self, world):
        seen = await world.manager.observe([])

        assert {} == seen.answers

    async def test_success_is_told_with_its_times(self, world):
        _, _, report = await world.over()

        assert Phase.SUCCEEDED is report.phase
        assert 0 == report.exit_code
        assert report.finished_at is not None
        if world.tells_starts:
            assert report.started_at <= report.finished_at

    @owed_if("world.fails_with")
    async def test_an_exit_code_is_told(self, world):
        _, _, report = await world.over(exit_code=3)

        assert (Phase.FAILED, Reason.EXIT_CODE) == (report.phase, report.reason)
        assert (3, None) == (report.exit_code, report.signal)

    @owed_if("world.fails_with")
    async def test_a_signal_is_told_from_an_exit_code(self, world):
        """
        Killed by signal 9 is not the same as `exit 9`, nor as `exit 137`.
        """
        _, _, report = await world.over(signal=9)

        assert (Phase.FAILED, Reason.SIGNAL) == (report.phase, report.reason)
        assert 9 == report.signal

    @owed_if("walltime")
    async def test_the_walltime_ends_a_job_and_is_its_reason(self, world):
        _, handle = await world.running(resources=Resources(walltime=Duration(seconds=2)))

        report = await world.becomes(handle, Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (report.phase, report.reason)

    @owed_if("walltime", "update_walltime")
    async def test_a_longer_walltime_lets_a_job_run_on(self, world):
        _, handle = await world.running(resources=Resources(walltime=Duration(seconds=3)))

        await world.manager.update(handle, timedelta(hours=1))
        await world.clock.sleep(5)

        assert Phase.RUNNING is (await world.see(handle)).phase

    async def test_an_id_that_never_was_is_not_reported(self, world):
        """
        No such job is an answer of its own: neither a failure of the job nor of the call.
        """
        _, handle = await world.running()
        nobody = replace(handle, id=handle.id + "9", key=handle.key + "9")

        assert isinstance(await world.see(nobody), Absent | CannotTell)

    @owed_if("world.reuse")
    async def test_a_stranger_under_our_id_is_never_taken_for_ours(self, world):
        """
        Ids are reused: a job is its id and its key.
        """
        _, handle, _ = await world.over(exit_code=3)
        await world.reuse(handle)

        answer = await world.see(handle)

        assert not isinstance(answer, Report) or (answer.source is Source.HISTORY and 3 == answer.exit_code)

    async def test_a_job_is_watched_by_its_id_alone_when_adopted(self, world):
        """
        An empty key means: whatever runs under this id.
        """
        _, handle = await world.running()

        report = await world.see(Handle(handle.id))

        assert Phase.RUNNING is report.phase

    @owed_if("world.say")
    async def test_an_unknown_word_is_no_phase(self, world):
        """
        A word from next year's release must not end a job.
        """
        _, handle = await world.running()
        await world.say(handle, "FLUMMOXED")

        report = await world.see(handle)

        assert report.phase is None
        assert "FLUMMOXED" == report.state
        assert not report.is_over

    @owed_if("history", "world.purge")
    async def test_a_purged_job_is_told_from_the_history(self, world):
        _, handle, _ = await world.over(exit_code=3)
        await world.purge(handle)

        report = await world.see(handle)

        assert (Phase.FAILED, 3, Source.HISTORY) == (report.phase, report.exit_code, report.source)

    @owed_if("key=searched", "!history", "world.purge")
    async def test_what_is_gone_without_a_history_cannot_be_told(self, world):
        """
        Purged is neither success nor failure nor loss.
        """
        _, handle, _ = await world.over()
        await world.purge(handle)

        assert isinstance(await world.see(handle), CannotTell)

    async def test_an_end_is_told_again_and_again(self, world):
        """
        A finished job stays finished, with the same result, for whoever missed it.
        """
        _, handle, first = await world.over(exit_code=3)

        second = await world.see(handle)

        assert (first.phase, first.exit_code, first.finished_at) == (second.phase, second.exit_code, second.finished_at)
