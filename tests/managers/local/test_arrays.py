"""Arrays: many tasks of one job, each with a folder, a result and output of its own."""

import asyncio
from datetime import timedelta

import pytest

from bascule.errors import Mistake, Refused
from bascule.model import Array, Duration, Handle, Phase, Reason, Resources, Tasks
from tests.managers.local.homes import wait_for

pytestmark = pytest.mark.long

SAYS = 'echo "$BASCULE_TASK_INDEX of $BASCULE_TASK_COUNT" | tee -a ran'
WAITS = f"{SAYS}; while test ! -e go; do sleep 0.05; done"


def ran(home):
    """Return which tasks have run, each as often as it did."""
    return sorted(int(line.split()[0]) for line in home.read("ran").splitlines())


async def running(home, handle, count):
    """Wait until so many tasks run."""
    return await home.until(lambda report: report.tasks and report.tasks.running == count, handle)


async def test_each_task_runs_once_with_its_index(home):
    report = await home.run(SAYS, array=Array("0-4,7"))

    assert (Phase.SUCCEEDED, Tasks(total=6, succeeded=6)) == (report.phase, report.tasks)
    assert [0, 1, 2, 3, 4, 7] == ran(home)
    assert "7 of 6\n" == home.read("job_7.out")
    assert "6 of 6 done" == report.explanation


async def test_the_whole_failed_if_one_task_did(home):
    report = await home.run('exit "$BASCULE_TASK_INDEX"', array=Array("0-3"))

    assert (Phase.FAILED, Reason.EXIT_CODE) == (report.phase, report.reason)
    assert Tasks(total=4, succeeded=1, failed=3, failed_indices="1-3") == report.tasks
    assert "4 of 4 done, 3 failed (1-3); task 1: exit code 1" == report.explanation


async def test_tasks_that_cannot_start_failed(home):
    report = await home.run(array=Array("0-1"), working_directory="/nowhere")

    assert (Phase.FAILED, Reason.START_FAILED) == (report.phase, report.reason)
    assert "0-1" == report.tasks.failed_indices


async def test_as_many_run_at_once_as_fit(home):
    handle = await home.submit(WAITS, array=Array("0-9"))

    report = await running(home, handle, 4)
    (home.work / "go").touch()
    end = await home.end_of(handle)

    assert Phase.RUNNING is report.phase
    assert "0 of 10 done, 4 running" == report.explanation
    assert 10 == end.tasks.succeeded


async def test_as_many_run_at_once_as_may(home):
    """What the array leaves free is for others, which do not wait behind it."""
    handle = await home.submit(WAITS, array=Array("0-5", 2))
    await running(home, handle, 2)

    other = await home.run("echo other >>ran", name="other")
    seen = await home.see(handle)
    (home.work / "go").touch()

    assert Phase.SUCCEEDED is other.phase
    assert 2 == seen.tasks.running
    assert 6 == (await home.end_of(handle)).tasks.succeeded


async def test_output_is_read_by_index(home):
    script = 'echo "out $BASCULE_TASK_INDEX"; echo "err $BASCULE_TASK_INDEX" >&2'
    handle = await home.submit(script, array=Array("1-3"))
    await home.end_of(handle)

    output = [await home.manager.read(handle, "output", 0, 100, index) for index in (1, 2, 3)]
    error = await home.manager.read(handle, "error", 0, 100, 2)
    rest = await home.manager.read(handle, "output", 4, 100, 3)

    assert [b"out 1\n", b"out 2\n", b"out 3\n"] == [chunk.data for chunk in output]
    assert (b"err 2\n", b"3\n") == (error.data, rest.data)


async def test_names_of_files_know_the_index(home):
    await home.run("echo hello", name="sweep", array=Array("3,12"), output="%x-%A.%3a.txt", error="%j.err")

    names = {path.name for path in home.work.iterdir()}

    assert {"3", "12"} == {name.rpartition("_")[2].removesuffix(".err") for name in names if name.endswith(".err")}
    assert {"003.txt", "012.txt"} == {name.partition(".")[2] for name in names if name.endswith(".txt")}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"array": Array("0-10000")}, "at most 10,000 tasks"),
        ({"array": Array("0-1"), "output": "all.txt"}, "all tasks would write to `all.txt`"),
        ({"array": Array("0-1"), "output": "%b"}, "`%b` means nothing here"),
        ({"output": "%a"}, "`%a` means nothing here"),
    ],
)
def test_what_is_refused(home, spec, words):
    with pytest.raises(Mistake, match=words):
        home.manager.check(home.order("true", **spec).job)


class TestCancel:
    async def test_the_whole(self, home):
        handle = await home.submit(WAITS, array=Array("0-9"))
        await running(home, handle, 4)

        await home.manager.cancel(handle)
        report = await home.end_of(handle)

        assert (Phase.CANCELLED, 10) == (report.phase, report.tasks.cancelled)
        assert [0, 1, 2, 3] == ran(home)

    async def test_the_whole_before_it_starts(self, home):
        handle = await home.submit(SAYS, array=Array("0-9"), held=True)
        await home.becomes(handle, Phase.HELD)

        await home.manager.cancel(handle)
        report = await home.end_of(handle)

        assert (Phase.CANCELLED, 10, None) == (report.phase, report.tasks.cancelled, report.started_at)
        assert [] == ran(home)

    async def test_a_task_that_runs(self, home):
        handle = await home.submit(WAITS, array=Array("0-2"))
        await running(home, handle, 3)

        await home.manager.cancel(handle, 1)
        seen = await running(home, handle, 2)
        (home.work / "go").touch()
        report = await home.end_of(handle)

        assert (Phase.RUNNING, 1) == (seen.phase, seen.tasks.cancelled)
        assert Tasks(total=3, succeeded=2, cancelled=1) == report.tasks
        assert (Phase.CANCELLED, "3 of 3 done, 1 cancelled") == (report.phase, report.explanation)

    async def test_a_task_that_waits_never_starts(self, home):
        handle = await home.submit(WAITS, array=Array("0-5", 1))
        await running(home, handle, 1)

        await home.manager.cancel(handle, 3)
        await home.until(lambda report: report.tasks.cancelled == 1, handle)
        (home.work / "go").touch()

        assert 5 == (await home.end_of(handle)).tasks.succeeded
        assert [0, 1, 2, 4, 5] == ran(home)

    async def test_a_task_that_is_over_stays_as_it_is(self, home):
        handle = await home.submit(f"{SAYS}; test $BASCULE_TASK_INDEX = 0 || sleep 1", array=Array("0-1"))
        await home.until(lambda report: report.tasks and report.tasks.succeeded == 1, handle)

        await home.manager.cancel(handle, 0)

        assert 2 == (await home.end_of(handle)).tasks.succeeded

    async def test_a_task_that_is_not_there(self, home):
        array = await home.submit(WAITS, array=Array("0-1"))
        single = await home.submit(WAITS)
        (home.work / "go").touch()

        with pytest.raises(Refused, match="has no task 7"):
            await home.manager.cancel(array, 7)
        with pytest.raises(Refused, match="has no task 0"):
            await home.manager.cancel(single, 0)


class TestHeld:
    async def test_it_waits_as_a_whole(self, home):
        handle = await home.submit(SAYS, array=Array("0-1"), held=True)
        await home.becomes(handle, Phase.HELD)

        await home.manager.release(handle)

        assert 2 == (await home.end_of(handle)).tasks.succeeded

    async def test_a_hold_keeps_the_tasks_that_wait(self, home):
        handle = await home.submit(WAITS, array=Array("0-3", 1))
        await running(home, handle, 1)
        await home.manager.hold(handle)
        await wait_for(lambda: home.spool.state(handle.id).users)
        (home.work / "go").touch()
        held = await home.until(lambda report: report.tasks.succeeded == 1, handle)

        await asyncio.sleep(0.3)
        still = await home.see(handle)
        await home.manager.unhold(handle)

        assert (held.tasks, 0) == (still.tasks, still.tasks.running)
        assert 4 == (await home.end_of(handle)).tasks.succeeded


class TestTime:
    async def test_a_walltime_is_each_tasks_own(self, home):
        script = f"{SAYS}; test $BASCULE_TASK_INDEX != 1 || sleep 60"
        resources = Resources(walltime=Duration(seconds=1))

        report = await home.run(script, array=Array("0-2"), resources=resources)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (report.phase, report.reason)
        assert Tasks(total=3, succeeded=2, failed=1, failed_indices="1") == report.tasks

    async def test_a_changed_walltime_is_for_all(self, home):
        handle = await home.submit("sleep 60", array=Array("0-5"), resources=Resources(walltime=Duration(hours=1)))
        await running(home, handle, 4)

        await home.manager.update(handle, timedelta(seconds=1))

        assert "0-5" == (await home.end_of(handle)).tasks.failed_indices

    async def test_a_signal_reaches_all_that_run(self, home):
        script = f"trap 'echo caught; exit 0' USR1; {SAYS}; while :; do sleep 0.05; done"
        handle = await home.submit(script, array=Array("0-2"))
        await running(home, handle, 3)
        await wait_for(lambda: len(ran(home)) == 3)

        await home.manager.signal(handle, "USR1")

        assert 3 == (await home.end_of(handle)).tasks.succeeded


async def test_many_tasks_cost_one_look(home, monkeypatch):
    """
    The state of the whole counts them: a poll opens one file, however many there are.
    """
    handle = await home.submit("true", array=Array("0-199"))
    await home.end_of(handle, within=60)
    looks = []
    monkeypatch.setattr(type(home.spool), "state", lambda spool, key: looks.append(key))
    home.again()

    await home.manager.observe([Handle(handle.id, handle.key)])

    assert [handle.id] == looks


async def test_nothing_is_left_of_one_that_is_forgotten(home):
    handle = await home.submit(SAYS, array=Array("0-2"))
    await home.end_of(handle)

    await home.manager.forget(handle)

    assert not home.spool.folder(handle.id).exists()
