"""Whatever is killed: each task of an array runs once, and its true result is counted."""

import os
import signal

import pytest

from bascule.model import Array, Handle, Phase, Reason, Tasks
from tests.managers.local.homes import alive, gone, wait_for
from tests.managers.local.test_arrays import WAITS, ran, running
from tests.managers.local.test_survival import POINTS, restart_machine

pytestmark = pytest.mark.slow

ONCE = 'echo "$BASCULE_TASK_INDEX" >>ran; sleep 0.1; exit $((BASCULE_TASK_INDEX % 2))'
HALF = Tasks(total=12, succeeded=6, failed=6, failed_indices="1-11:2")


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 5])
async def test_a_supervisor_may_be_killed_at_any_step(home, monkeypatch, point, nth):
    monkeypatch.setenv("BASCULE_FAILPOINT", f"local.{point}:{nth}")
    handle = await home.submit(ONCE, array=Array("0-11"))
    await wait_for(lambda: "supervisor.started" in home.log() and (len(ran(home)) == 12 or not home.supervisors()))
    monkeypatch.delenv("BASCULE_FAILPOINT")
    home.again()

    report = await home.end_of(handle)

    assert (Phase.FAILED, HALF) == (report.phase, report.tasks)
    assert list(range(12)) == ran(home)


async def test_supervisors_killed_again_and_again_run_nothing_twice(home):
    handle = await home.submit(ONCE, array=Array("0-99"))
    for count in (3, 10, 11, 25, 40, 60, 80):
        await home.until(lambda report, count=count: len(ran(home)) >= count, handle)
        home.kill_supervisor()
        home.again()

    report = await home.end_of(handle, within=60)

    assert (50, 50) == (report.tasks.succeeded, report.tasks.failed)
    assert list(range(100)) == ran(home)


async def test_a_cancelled_array_stays_cancelled(home):
    """What waited when it was cancelled is never started by a successor."""
    handle = await home.submit(f"trap '' TERM; {WAITS}", array=Array("0-9", 2))
    await running(home, handle, 2)
    await home.manager.cancel(handle)
    await wait_for(lambda: home.spool.state(handle.id).stop)
    home.kill_supervisor()
    home.again()

    report = await home.end_of(handle)

    assert (Phase.CANCELLED, 10) == (report.phase, report.tasks.cancelled)
    assert [0, 1] == ran(home)


async def test_a_cancelled_task_stays_cancelled(home):
    handle = await home.submit(WAITS, array=Array("0-3", 1))
    await running(home, handle, 1)
    await home.manager.cancel(handle, 2)
    await home.until(lambda report: report.tasks.cancelled == 1, handle)
    home.kill_supervisor()
    home.again()
    (home.work / "go").touch()

    assert Tasks(total=4, succeeded=3, cancelled=1) == (await home.end_of(handle)).tasks
    assert [0, 1, 3] == ran(home)


async def test_a_torn_state_of_the_whole_is_counted_anew(home):
    handle = await home.submit(WAITS, array=Array("0-5", 2), held=True)
    await home.manager.release(handle)
    await running(home, handle, 2)
    home.kill_supervisor()
    (home.spool.folder(handle.id) / "state").write_bytes(b"")
    (home.work / "go").touch()
    home.again()

    assert 6 == (await home.end_of(handle)).tasks.succeeded
    assert list(range(6)) == ran(home)


async def test_tasks_that_died_with_the_machine_are_lost_and_the_others_run(home):
    handle = await home.submit(
        "test $BASCULE_TASK_INDEX != 0 || { echo >begun; exec sleep 300; }", array=Array("0-3", 1)
    )
    await home.wrote("begun")
    home.kill_supervisor()
    task = Handle(f"{handle.id}_0")
    family = home.family(task)
    restart_machine(home, task)

    report = await home.end_of(handle)
    for pid in filter(alive, family):
        os.kill(pid, signal.SIGKILL)
    await wait_for(lambda: not home.family(task))
    for group in home.spool.state(task.id).groups:
        gone(group)

    assert (Phase.FAILED, Reason.LOST) == (report.phase, report.reason)
    assert Tasks(total=4, succeeded=3, failed=1, failed_indices="0") == report.tasks
