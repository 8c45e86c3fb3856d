"""Whatever is killed: each job runs once, and its true result is found."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bascule.managers.local.records import encode
from bascule.model import Absent, Found, Phase, Reason, Resources
from tests.managers.local.homes import Home, alive, gone, state_of, wait_for

pytestmark = pytest.mark.slow

ONCE = 'echo "$BASCULE_JOB" >>ran; sleep 0.2; exit 3'
SUBMIT = """
import asyncio, sys
from pathlib import Path
from tests.managers.local.homes import Home
home = Home(Path(sys.argv[1]))
async def submit():
    for _ in range(int(sys.argv[3])):
        await home.submit(sys.argv[2], name="once")
asyncio.run(submit())
"""


def submit_elsewhere(home, failpoint="", count=1, script=ONCE):
    """Submit in a process of its own, which may be killed at *failpoint*."""
    command = [sys.executable, "-c", SUBMIT, str(home.folder), script, str(count)]
    return start(command, BASCULE_FAILPOINT=failpoint)


def start(command, **environment):
    root = Path(__file__).parents[3]
    return subprocess.Popen(command, env={**os.environ, **environment}, cwd=root, stderr=subprocess.PIPE)


async def runs(home):
    return home.read("ran").split()


@pytest.mark.parametrize("point", ["begun", "written", "accepted", "announced"])
async def test_a_submit_that_is_killed_has_happened_or_not(home, point):
    """
    Looking tells which; submitting again gives one run in either case.
    """
    child = submit_elsewhere(home, f"local.submit.{point}")
    child.communicate()
    order = home.order(ONCE, name="once")
    found = await home.manager.find(order.key, None)

    again = await home.manager.submit(order)
    report = await home.end_of(again)

    assert -signal.SIGKILL == child.returncode
    assert isinstance(found, Absent if point in {"begun", "written"} else Found)
    assert 3 == report.exit_code
    assert ["once"] == await runs(home)


async def test_a_job_whose_submitter_was_killed_is_found_and_runs(home):
    """
    Accepted but never announced: whoever observes it sees to it.
    """
    submit_elsewhere(home, "local.submit.accepted").communicate()
    key = home.order(name="once").key
    found = await home.manager.find(key, None)

    report = await home.end_of(found.matches[0].handle)

    assert 3 == report.exit_code
    assert ["once"] == await runs(home)


POINTS = ["loaded", "taken", "wish.seen", "starting", "spawned", "started", "ended", "over"]


@pytest.mark.parametrize("point", POINTS)
async def test_a_supervisor_may_be_killed_at_any_step(home, monkeypatch, point):
    """
    Its successor finds out what had happened, and each job runs once, with its own result.
    """
    monkeypatch.setenv("BASCULE_FAILPOINT", f"local.{point}")
    handles = [await home.submit(ONCE, name=f"job{n}") for n in range(3)]
    await wait_for(lambda: "supervisor.started" in home.log() and not home.supervisors())
    monkeypatch.delenv("BASCULE_FAILPOINT")

    reports = [await home.end_of(handle) for handle in handles]

    assert [(Reason.EXIT_CODE, 3)] * 3 == [(report.reason, report.exit_code) for report in reports]
    assert ["job0", "job1", "job2"] == sorted(await runs(home))


async def test_supervisors_killed_again_and_again_run_nothing_twice(home, monkeypatch):
    handles = [await home.submit(ONCE, name=f"job{n}") for n in range(12)]
    for point in ("spawned:2", "started", "starting:3", "ended:2", "over", "spawned"):
        monkeypatch.setenv("BASCULE_FAILPOINT", f"local.{point}")
        home.again()
        await home.manager.observe(handles)
        await asyncio.sleep(0.4)
    monkeypatch.delenv("BASCULE_FAILPOINT")
    home.kill_supervisor()

    reports = [await home.end_of(handle) for handle in handles]

    assert [3] * 12 == [report.exit_code for report in reports]
    assert sorted(f"job{n}" for n in range(12)) == sorted(await runs(home))


async def test_two_processes_that_submit_one_key_at_once_run_it_once(home):
    children = [submit_elsewhere(home) for _ in range(4)]
    errors = [child.communicate()[1] for child in children]

    report = await home.end_of(await home.manager.submit(home.order(ONCE, name="once")))

    assert [b""] * 4 == errors
    assert 3 == report.exit_code
    assert ["once"] == await runs(home)


async def test_there_is_one_supervisor_however_many_are_started(home):
    command = [sys.executable, "-m", "bascule.managers.local.supervisor", str(home.folder), "--idle", "5"]
    children = [start(command) for _ in range(4)]
    await wait_for(lambda: sum(child.poll() is None for child in children) == 1)
    left = next(child for child in children if child.poll() is None)

    report = await home.run("exit 2")
    left.terminate()
    errors = [child.communicate()[1] for child in children]

    assert 2 == report.exit_code
    assert [0] * 4 == [child.returncode for child in children]
    assert [b""] * 4 == errors


async def test_jobs_that_a_job_submits_to_another_home_outlive_it(home, tmp_path):
    """
    Their supervisor was started inside the job, and must not end with it.
    """
    inner = Home(tmp_path / "inner")
    root = Path(__file__).parents[3]
    (home.work / "submit.py").write_text(SUBMIT)
    script = f"PYTHONPATH=$PYTHONPATH:{root} {sys.executable} {home.work}/submit.py {inner.folder} 'sleep 1; exit 9' 1"
    outer = await home.submit(f"{script}; until [ -f {inner.spool.place}/news ]; do sleep 0.02; done")
    ended = await home.end_of(outer)
    supervisors = inner.supervisors()

    report = await inner.end_of(await inner.manager.submit(inner.order(name="once")))

    assert Phase.SUCCEEDED is ended.phase
    assert supervisors == inner.supervisors()
    assert 9 == report.exit_code
    await inner.close()


async def test_a_supervisor_without_work_ends_and_another_comes_when_needed(tmp_path):
    home = Home(tmp_path)
    home.manager._idle = 0.2
    await home.run("true")
    await wait_for(lambda: not home.supervisors())

    report = await home.run("exit 2")

    await wait_for(lambda: not home.supervisors())
    assert 2 == report.exit_code
    assert 2 <= home.log().count("supervisor.ended")  # a slow one is helped by a second, which ends too
    await home.close()


async def test_jobs_run_on_while_there_is_no_supervisor(home):
    """
    The result is written by the wrapper, which is no process of ours, and is told with its own time.
    """
    handle = await home.submit("sleep 0.3; echo done >done; exit 4")
    await home.becomes(handle, Phase.RUNNING)
    home.kill_supervisor()
    await home.wrote("done")
    finished = time.time()
    await asyncio.sleep(0.5)

    report = await home.end_of(handle)

    assert 4 == report.exit_code
    assert abs(report.finished_at.timestamp() - finished) < 0.4


async def test_a_successor_goes_on_with_the_queue_in_its_order(home):
    asks = {"resources": Resources(tasks=4)}
    handles = [await home.submit('echo "$BASCULE_JOB" >>ran; sleep 0.1', name=f"job{n}", **asks) for n in range(4)]
    await home.becomes(handles[0], Phase.RUNNING)
    home.kill_supervisor()

    for handle in handles:
        await home.end_of(handle)

    assert [f"job{n}" for n in range(4)] == await runs(home)


async def test_a_killed_wrapper_does_not_leave_its_job_running(home):
    """
    Nobody can know the result any more; what is left is ended, and the job is lost.
    """
    handle = await home.submit("setsid sleep 300 & echo $! >pids; echo $$ >>pids; sleep 301")
    left = [int(pid) for pid in (await home.wrote("pids", "\n")).split()]
    os.kill(home.wrapper(handle), signal.SIGKILL)

    report = await home.end_of(handle)

    assert (Phase.FAILED, Reason.LOST) == (report.phase, report.reason)
    assert "wrapper was killed" in report.explanation
    assert not [pid for pid in left if alive(pid)]


async def test_a_job_killed_together_with_its_wrapper_was_killed(home):
    """
    The supervisor inherits the program and sees itself how it ended.
    """
    handle = await home.submit("sleep 300 & echo $$ >pid; wait")
    await home.wrote("pid", "\n")
    await home.becomes(handle, Phase.RUNNING)
    program, wrapper = int(home.read("pid")), home.wrapper(handle)
    os.kill(wrapper, signal.SIGSTOP)
    await wait_for(lambda: state_of(wrapper) == "T")
    os.kill(program, signal.SIGKILL)
    os.kill(wrapper, signal.SIGKILL)

    report = await home.end_of(handle)

    assert (Reason.SIGNAL, 9) == (report.reason, report.signal)


async def test_jobs_that_died_with_the_machine_are_lost_and_those_in_the_queue_run(home):
    """
    Another boot: process ids of the one before mean nothing, even where somebody bears them again.
    """
    asks = {"resources": Resources(tasks=4)}
    running = await home.submit("echo $$ >pid; sleep 300", **asks)
    await home.wrote("pid", "\n")
    waiting = await home.submit("echo ran >ran; exit 2", **asks)
    await home.until(lambda report: "waits for" in report.explanation, waiting)
    home.kill_supervisor()
    family = home.family(running)
    restart_machine(home, running)

    lost, ran = await home.end_of(running), await home.end_of(waiting)
    survivors = [pid for pid in family if alive(pid)]
    for pid in survivors:
        os.kill(pid, signal.SIGKILL)
    await wait_for(lambda: not home.family(running))
    for group in home.spool.state(running.id).groups:
        gone(group)

    assert (Phase.FAILED, Reason.LOST) == (lost.phase, lost.reason)
    assert "restarted" in lost.explanation
    assert 2 == ran.exit_code
    assert survivors, "a stranger that bears an old id was killed"


async def test_a_result_from_before_the_restart_is_still_the_result(home):
    handle = await home.submit("sleep 0.3; exit 6")
    await home.becomes(handle, Phase.RUNNING)
    home.kill_supervisor()
    await wait_for(lambda: not home.family(handle))
    restart_machine(home, handle)

    report = await home.end_of(handle)

    assert (Reason.EXIT_CODE, 6) == (report.reason, report.exit_code)


async def test_a_torn_state_costs_no_job_and_runs_none_twice(home):
    """
    What is left on the disk after a loss of power may be empty; the intent was synced.
    """
    handles = [await home.submit(ONCE, name=f"job{n}") for n in range(2)]
    handles.append(await home.submit(ONCE, name="job2", hold=True))
    await home.becomes(handles[2], Phase.HELD)
    await wait_for(lambda: len(home.read("ran").split()) == 2)
    home.kill_supervisor()
    for handle in handles:
        (home.spool.folder(handle.id) / "state").write_bytes(b"")

    for handle in handles[:2]:
        await home.end_of(handle)
    await home.manager.unhold(handles[2])
    reports = [await home.end_of(handle) for handle in handles]

    assert [3] * 3 == [report.exit_code for report in reports]
    assert ["job0", "job1", "job2"] == sorted(await runs(home))


async def test_fifty_jobs_run_once_each_though_everything_of_ours_is_killed(home):
    """
    Submitters and supervisors, in the middle of it; the jobs' own shells are not ours.
    """
    for enough in (5, 12, 20):
        child = submit_elsewhere(home, script='echo "$BASCULE_KEY" >>ran; sleep 0.1', count=50)
        await wait_for(lambda enough=enough: len(home.read("ran").split()) >= enough)
        child.kill()
        home.kill_supervisor()
        child.communicate()
    orders = [home.order('echo "$BASCULE_KEY" >>ran; sleep 0.1', name="once") for _ in range(50)]
    handles = [await home.manager.submit(order) for order in orders]

    phases = {(await home.end_of(handle, within=40)).phase for handle in handles}

    assert {Phase.SUCCEEDED} == phases
    assert sorted(order.key for order in orders) == sorted(await runs(home))


def restart_machine(home, handle):
    """Let a job's files say that it was started before the last boot."""
    folder = home.spool.folder(handle.id)
    state = home.spool.progress(handle.id)
    for path in (folder / "state", folder / f"intent.{state.launch}"):
        path.write_bytes(encode(state).replace(state.boot.encode(), b"some-other-boot"))
