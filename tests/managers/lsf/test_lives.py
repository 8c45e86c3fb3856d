"""Whole lives of jobs at the fake LSF, where commands really run."""

from __future__ import annotations

import asyncio
import stat
from datetime import timedelta

import pytest

from bascule.errors import Refused, Unavailable
from bascule.model import Array, Duration, Files, Handle, Input, Phase, Reason, Report, Resources, Run, Source
from tests.contracts.manager_world import INSTALLATION
from tests.managers.lsf.test_contract import NewWorld, OldWorld

pytestmark = pytest.mark.slow

FINAL = (Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED)
BY_INDEX = '#!/bin/sh\necho "task $LSB_JOBINDEX"\n[ "$LSB_JOBINDEX" != 2 ] || exit 4\n'
WAITS = "#!/bin/sh\nwhile :; do sleep 0.05; done\n"


@pytest.fixture(params=[NewWorld, OldWorld], ids=lambda world: world.__name__)
async def world(request, tmp_path):
    async with request.param(tmp_path) as world:
        yield world


@pytest.fixture
async def new(tmp_path):
    async with NewWorld(tmp_path) as world:
        yield world


async def submitted(world, script, **spec):
    return await world.manager.submit(world.order(run=Run(script=script), **spec))


def start(world, handle):
    with world.cluster.lock:
        for job in world.cluster.jobs_of(int(handle.id)):
            world.cluster.start(job)


async def run(world, script, **spec) -> tuple[Handle, Report]:
    handle = await submitted(world, script, **spec)
    start(world, handle)
    return handle, await world.becomes(handle, *FINAL)


def fake(world, handle, index=None):
    return world.cluster.jobs_of(int(handle.id), index)[0]


class TestSurroundings:
    async def test_environment_secrets_arguments_and_inputs_are_there(self, world):
        order = world.order(
            run=Run(script='#!/bin/sh\necho "$KEY|$1|$(cat in.txt)"\n'),
            arguments=("it's",),
            files=Files(inputs=(Input("in.txt", content="brought\n"),)),
        )._replace(secret_env={"KEY": "canary"})

        handle = await world.manager.submit(order)
        start(world, handle)
        await world.becomes(handle, Phase.SUCCEEDED)

        chunk = await world.manager.read(handle, "output", 0, 1000)
        assert b"canary|it's|brought\n" == chunk.data

    async def test_a_secret_is_in_no_field_that_others_see(self, new):
        order = new.order()._replace(secret_env={"KEY": "canary"})

        handle = await new.manager.submit(order)

        assert "canary" not in str(new.server.submits)
        assert "canary" in (fake(new, handle).folder / "bascule.sh").read_text()

    async def test_a_program_that_lies_there_is_run(self, new, tmp_path):
        program = tmp_path / "program"
        program.write_text("#!/bin/sh\nexit 9\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

        for work in (Run(script_path=str(program)), Run(command=(str(program),))):
            handle = await new.manager.submit(new.order(run=work))
            start(new, handle)

            assert 9 == (await new.becomes(handle, Phase.FAILED)).exit_code


class TestArrays:
    async def test_tasks_are_counted_and_the_first_failure_is_told(self, world):
        _, report = await run(world, BY_INDEX, array=Array("1-4"))

        assert (Phase.FAILED, Reason.EXIT_CODE, 4) == (report.phase, report.reason, report.exit_code)
        assert (4, 3, 1, "2") == (
            report.tasks.total,
            report.tasks.succeeded,
            report.tasks.failed,
            report.tasks.failed_indices,
        )
        assert "task 2: ended with exit code 4" in report.explanation

    async def test_each_task_has_its_output(self, world):
        handle, _ = await run(world, BY_INDEX, array=Array("1-3"))

        chunks = [await world.manager.read(handle, "output", 0, 100, index) for index in (1, 2, 3)]

        assert [b"task 1\n", b"task 2\n", b"task 3\n"] == [chunk.data for chunk in chunks]

    async def test_one_task_is_cancelled_and_the_others_run_on(self, new):
        handle = await submitted(new, WAITS, array=Array("1-3"))
        start(new, handle)
        await new.becomes(handle, Phase.RUNNING)

        await new.manager.cancel(handle, 2)
        for _ in range(200):
            report = await new.see(handle)
            if report.tasks.cancelled:
                break
            await new.clock.sleep(0.1)

        assert (Phase.RUNNING, 2, 1) == (report.phase, report.tasks.running, report.tasks.cancelled)

    async def test_a_held_array_is_released_whole(self, new):
        handle = await new.manager.submit(new.order(run=Run(script=BY_INDEX), array=Array("1-2"), held=True))
        held = await new.see(handle)

        await new.manager.release(handle)
        released = await new.see(handle)

        assert (Phase.HELD, Phase.QUEUED) == (held.phase, released.phase)

    async def test_tasks_that_lsf_has_forgotten_are_told_by_their_wrappers(self, new):
        """
        The history knows no arrays, and a process that was started anew remembers none.
        """
        handle, _ = await run(new, BY_INDEX, array=Array("1-4"))
        with new.cluster.lock:
            for index in (1, 2):
                new.cluster.purge(fake(new, handle, index))
        new.manager._observer._known.clear()

        part = await new.see(handle)
        with new.cluster.lock:
            for index in (3, 4):
                new.cluster.purge(fake(new, handle, index))
        new.manager._observer._known.clear()
        whole = await new.see(handle)

        for report in (part, whole):
            assert (Phase.FAILED, 4, 3, "2") == (
                report.phase,
                report.tasks.total,
                report.tasks.succeeded,
                report.tasks.failed_indices,
            )
        assert Source.MARKER is whole.source

    async def test_a_task_of_which_nothing_is_known_is_not_over(self, new):
        handle, _ = await run(new, BY_INDEX, array=Array("1-3"))
        with new.cluster.lock:
            (fake(new, handle, 3).folder / "bascule.result.3").unlink()
            new.cluster.purge(fake(new, handle, 3))
        new.manager._observer._known.clear()

        assert not (await new.see(handle)).is_over

    async def test_an_array_is_found_with_its_indices(self, new):
        order = new.order(run=Run(script=BY_INDEX), array=Array("1-3,7"))
        handle = await new.manager.submit(order)

        [match] = (await new.manager.find(order.key, new.now())).matches

        assert handle.id == match.handle.id
        assert 4 == match.report.tasks.total
        assert handle.place == match.handle.place


class TestHolds:
    async def test_a_users_hold_and_its_end(self, world):
        handle = await submitted(world, WAITS)

        await world.manager.hold(handle)
        held = await world.see(handle)
        await world.manager.hold(handle)
        await world.manager.unhold(handle)
        waits = await world.see(handle)

        assert (Phase.HELD, Phase.QUEUED) == (held.phase, waits.phase)

    async def test_what_runs_cannot_be_held(self, world):
        """
        LSF would suspend it in the middle, with its memory and its licences.
        """
        _, handle = await world.running()

        with pytest.raises(Refused, match="no longer waits"):
            await world.manager.hold(handle)

        assert Phase.RUNNING is (await world.see(handle)).phase

    async def test_one_that_an_administrator_suspended_is_held_and_no_end(self, world):
        _, handle = await world.running()
        with world.cluster.lock:
            world.cluster.stop(fake(world, handle))

        report = await world.see(handle)

        assert Phase.HELD is report.phase
        assert not report.is_over

    async def test_a_sweep_finds_a_held_job_by_its_installation(self, world):
        handle = await world.manager.submit(world.order(held=True))

        [stray] = await world.manager.sweep(INSTALLATION)

        assert (handle.id, True, False) == (stray.handle.id, stray.held, stray.over)


class TestEnds:
    @pytest.mark.parametrize(
        ("term", "phase", "reason"),
        [
            ("TERM_MEMLIMIT", Phase.FAILED, Reason.OUT_OF_MEMORY),
            ("TERM_PREEMPT", Phase.FAILED, Reason.PREEMPTED),
            ("TERM_ADMIN", Phase.CANCELLED, ""),
        ],
    )
    async def test_why_lsf_ended_it_is_read_from_its_report(self, world, term, phase, reason):
        _, handle = await world.running()
        with world.cluster.lock:
            world.cluster.kill(fake(world, handle), term=term)

        report = await world.becomes(handle, *FINAL)

        assert (phase, reason, term) == (report.phase, report.reason, report.why)

    async def test_it_is_read_from_the_history_where_the_report_is_not_there(self, new):
        _, handle = await new.running()
        with new.cluster.lock:
            job = fake(new, handle)
            job.outfile = ""
            new.cluster.kill(job, term="TERM_MEMLIMIT")

        assert Reason.OUT_OF_MEMORY == (await new.becomes(handle, *FINAL)).reason

    @pytest.mark.parametrize("wait_status", [False, True])
    async def test_lsfs_number_is_read_in_both_forms(self, new, wait_status):
        new.server.wait_status = wait_status
        handle = await submitted(new, "#!/bin/sh\nexit 3\n")
        for _ in range(3):
            new.server.fault("POST .*/jobfiles/download", "status", status=404, body=b"")
        start(new, handle)

        assert 3 == (await new.becomes(handle, *FINAL)).exit_code

    async def test_exit_137_is_told_from_a_kill(self, world):
        _, left = await run(world, "#!/bin/sh\nexit 137\n")
        _, killed = await run(world, "#!/bin/sh\nkill -9 $$\n")

        assert (Reason.EXIT_CODE, 137, None) == (left.reason, left.exit_code, left.signal)
        assert (Reason.SIGNAL, None, 9) == (killed.reason, killed.exit_code, killed.signal)

    async def test_a_folder_that_is_not_there_is_told(self, world):
        _, report = await run(world, "#!/bin/sh\n", working_directory="/no/such/folder")

        assert Reason.START_FAILED == report.reason
        assert "/no/such/folder" in report.explanation

    async def test_a_requeued_job_waits_and_runs_again(self, world):
        _, handle = await world.running()
        with world.cluster.lock:
            world.cluster.requeue(fake(world, handle))

        waits = await world.becomes(handle, Phase.QUEUED)
        await world.start(handle)
        again = await world.becomes(handle, Phase.RUNNING)

        assert not waits.is_over
        assert Phase.RUNNING is again.phase

    async def test_a_host_that_does_not_answer_ends_nothing(self, world):
        _, handle = await world.running()
        await world.say(handle, "UNKWN")

        report = await world.see(handle)

        assert report.phase is None
        assert "cannot reach the job's host" in report.explanation

    async def test_a_longer_walltime_is_refused_once_it_is_over(self, world):
        _, handle, _ = await world.over()

        with pytest.raises(Refused, match="already finished"):
            await world.manager.update(handle, timedelta(hours=1))


class TestOutput:
    async def test_a_file_that_has_not_grown_is_not_brought_again(self, new):
        _, handle = await new.running()
        await new.write(handle, b"x" * 1000)
        await new.manager.read(handle, "output", 0, 100)
        before = new.server.requests.copy()

        for offset in range(100, 1000, 100):
            await new.manager.read(handle, "output", offset, 100)
        await new.manager.read(handle, "output", 1000, 100)

        after = new.server.requests - before
        assert {"GET /ws/jobfiles/N": 1} == dict(after)

    async def test_errors_are_read_apart_and_not_twice(self, world):
        apart, _ = await run(world, "#!/bin/sh\necho out; echo err >&2\n")
        one, _ = await run(world, "#!/bin/sh\necho out; echo err >&2\n", output="both", error="both")

        read = world.manager.read
        assert (b"out\n", b"err\n") == (
            (await read(apart, "output", 0, 99)).data,
            (await read(apart, "error", 0, 99)).data,
        )
        assert (b"out\nerr\n", b"") == ((await read(one, "output", 0, 99)).data, (await read(one, "error", 0, 99)).data)

    async def test_output_elsewhere_is_read_by_its_whole_path(self, new, tmp_path):
        folder = tmp_path / "scratch"
        folder.mkdir()

        handle, _ = await run(new, "#!/bin/sh\npwd\n", working_directory=str(folder))

        assert f"{folder}\n".encode() == (await new.manager.read(handle, "output", 0, 1000)).data

    async def test_a_file_that_is_too_large_is_not_brought(self, new, monkeypatch):
        monkeypatch.setattr("bascule.managers.lsf.output.LARGEST_FILE", 100)
        _, handle = await new.running()
        await new.write(handle, b"x" * 101)

        with pytest.raises(Unavailable, match="101 bytes"):
            await new.manager.read(handle, "output", 0, 10)

        assert not new.server.requests["POST /ws/jobfiles/download/N"]

    async def test_what_is_kept_is_bounded(self, new, monkeypatch):
        monkeypatch.setattr("bascule.managers.lsf.output.KEPT", 1500)
        handles = [(await run(new, "#!/bin/sh\nhead -c 1000 /dev/zero\n"))[0] for _ in range(3)]

        for handle in handles:
            await new.manager.read(handle, "output", 0, 10)

        assert 1 == len(new.manager._output._kept)

    async def test_the_output_of_a_job_that_was_found_is_known(self, world):
        """
        By its description, or where the old list has none by its wrapper.
        """
        order = world.order(run=Run(script="#!/bin/sh\necho here\n"), output="named.txt")
        handle = await world.manager.submit(order)
        start(world, handle)
        await world.becomes(handle, Phase.SUCCEEDED)

        [match] = (await world.manager.find(order.key, world.now())).matches

        assert b"here\n" == (await world.manager.read(match.handle, "output", 0, 99)).data

    async def test_a_job_that_is_none_of_ours_has_no_output_that_we_know(self, new):
        with new.cluster.lock:
            number = new.cluster.reuse(new.cluster.submit("alice", "x", "true", new.folder, held=True)).id

        assert (await new.manager.read(Handle(str(number)), "output", 0, 99)).gone


class TestCost:
    async def test_a_job_at_rest_costs_nothing_beside_the_one_question(self, new):
        handles = [(await new.running())[1] for _ in range(5)]
        first = await new.manager.observe(handles)
        before = new.server.requests.copy()

        seen = await new.manager.observe(handles, first.cursor)

        assert seen.unchanged
        assert {"POST /ws/jobs/getbasicinfo": 1} == dict(new.server.requests - before)

    async def test_what_moved_is_read_whole_in_one_more(self, new):
        handles = [(await new.running())[1] for _ in range(4)]
        first = await new.manager.observe(handles)
        for handle in handles[:2]:
            await new.finish(handle)
        await asyncio.sleep(0.3)
        before = new.server.requests.copy()

        seen = await new.manager.observe(handles, first.cursor)

        assert {handle.id for handle in handles[:2]} == set(seen.answers)
        assert {"POST /ws/jobs/getbasicinfo": 1, "POST /ws/jobs/getfullinfo": 1} == dict(new.server.requests - before)

    async def test_many_ids_go_in_several_questions(self, new, monkeypatch):
        monkeypatch.setattr("bascule.managers.lsf.center.IDS_AT_ONCE", 2)
        handles = [await submitted(new, WAITS) for _ in range(5)]

        seen = await new.manager.observe(handles)

        assert 5 == len(seen.answers)

    async def test_why_a_job_waits_is_read_again_after_a_while(self, new):
        handle = await submitted(new, WAITS)
        await new.see(handle)
        with new.cluster.lock:
            fake(new, handle).pending = "Not enough hosts"
        at_once = await new.see(handle)
        await new.clock.sleep(4)

        later = await new.see(handle)

        assert ("New job is waiting for scheduling", "Not enough hosts") == (at_once.why, later.why)


class TestWalltime:
    async def test_a_shorter_one_ends_the_job(self, new):
        _, handle = await new.running(resources=Resources(walltime=Duration(hours=10)))

        await new.manager.update(handle, timedelta(minutes=1))

        assert Reason.TIMED_OUT == (await new.becomes(handle, *FINAL)).reason
