"""Cancel, signals and leftovers: what is asked to end ends, and with it all that it started."""

import os
import signal
import sys

import pytest

from bascule.model import Phase, Reason, Resources
from tests.managers.local.homes import alive, wait_for

pytestmark = pytest.mark.slow

DETACHED = """
(setsid sh -c 'echo $$ >>pids; exec sleep 300' </dev/null >/dev/null 2>&1 &)
sh -c '(sh -c "echo \\$\\$ >>pids; exec sleep 301" &) ; exit' &
sleep 302 & echo $! >>pids
wait
echo $$ >>pids
"""
STUBBORN = "trap '' TERM HUP INT; echo $$ >pid; while :; do sleep 0.05; done"


def pids(home, count):
    found = home.read("pids").split()
    return len(found) >= count and [int(pid) for pid in found]


async def test_cancel_ends_a_running_job(either_home):
    home = either_home
    handle = await home.submit("echo $$ >pid; exec sleep 60")
    pid = int(await home.wrote("pid", "\n"))

    await home.manager.cancel(handle)
    report = await home.end_of(handle)

    assert (Phase.CANCELLED, signal.SIGTERM) == (report.phase, report.signal)
    assert not alive(pid)


async def test_cancel_leaves_no_process_however_it_detached_itself(either_home):
    """
    A session of its own, a double fork, a background child: all are the job's.
    """
    home = either_home
    handle = await home.submit(DETACHED)
    started = await wait_for(lambda: pids(home, 3))

    await home.manager.cancel(handle)
    report = await home.end_of(handle)

    assert Phase.CANCELLED is report.phase
    assert not [pid for pid in started if alive(pid)]


async def test_a_job_that_ignores_term_is_killed_after_its_grace(either_home):
    home = either_home
    handle = await home.submit(STUBBORN)
    pid = int(await home.wrote("pid", "\n"))

    await home.manager.cancel(handle)
    report = await home.end_of(handle)

    assert (Phase.CANCELLED, signal.SIGKILL) == (report.phase, report.signal)
    assert not alive(pid)


async def test_a_job_that_ends_well_in_its_grace_is_cancelled_all_the_same(home):
    handle = await home.submit("trap 'echo saved >saved; exit 0' TERM; echo x >ready; while :; do sleep 0.02; done")
    await home.wrote("ready")

    await home.manager.cancel(handle)
    report = await home.end_of(handle)

    assert (Phase.CANCELLED, 0) == (report.phase, report.exit_code)
    assert "saved\n" == home.read("saved")


async def test_while_something_is_left_a_job_is_not_cancelled(home):
    """
    The phase is final only when nothing can write or compute any more.
    """
    home.again(grace="2s")
    handle = await home.submit("setsid sh -c \"trap '' TERM; echo \\$\\$ >pids; while :; do sleep 0.02; done\" & wait")
    left = (await wait_for(lambda: pids(home, 1)))[0]

    await home.manager.cancel(handle)
    report = await home.until(lambda report: report.state == "STOPPING", handle)
    was_alive = alive(left)
    end = await home.end_of(handle)

    assert (Phase.RUNNING, True) == (report.phase, was_alive)
    assert Phase.CANCELLED is end.phase
    assert not alive(left)


async def test_a_stopped_job_can_be_cancelled(home):
    """
    A process under SIGSTOP takes note of TERM only when it goes on.
    """
    handle = await home.submit("trap 'exit 7' TERM; echo $$ >pid; while :; do sleep 0.02; done")
    os.kill(int(await home.wrote("pid", "\n")), signal.SIGSTOP)

    await home.manager.cancel(handle)
    report = await home.end_of(handle)

    assert (Phase.CANCELLED, 7) == (report.phase, report.exit_code)


async def test_a_cancelled_queued_job_never_starts(home):
    blocker = await home.submit("sleep 60", resources=Resources(tasks=4))
    await home.becomes(blocker, Phase.RUNNING)
    handle = await home.submit("echo x >started")
    await home.until(lambda report: report.state == "QUEUED", handle)

    await home.manager.cancel(handle)
    report = await home.end_of(handle)
    await home.manager.cancel(blocker)
    await home.end_of(blocker)

    assert Phase.CANCELLED is report.phase
    assert report.started_at is None
    assert not home.read("started")


async def test_a_cancelled_held_job_never_starts(home):
    handle = await home.submit("echo x >started", hold=True)
    await home.becomes(handle, Phase.HELD)

    await home.manager.cancel(handle)
    report = await home.end_of(handle)

    assert Phase.CANCELLED is report.phase
    assert not home.read("started")


async def test_a_cancel_right_after_the_submit_is_not_lost(home):
    """
    Before a supervisor has even seen the job, and while its wrapper is just coming up.
    """
    handles = [await home.submit("sleep 60", name=f"quick{n}") for n in range(8)]
    for handle in handles:
        await home.manager.cancel(handle)

    phases = [(await home.end_of(handle)).phase for handle in handles]

    assert [Phase.CANCELLED] * 8 == phases


async def test_cancel_works_when_the_supervisor_is_dead(home):
    handle = await home.submit(STUBBORN)
    pid = int(await home.wrote("pid", "\n"))
    home.kill_supervisor()

    await home.manager.cancel(handle)
    report = await home.end_of(handle)

    assert Phase.CANCELLED is report.phase
    assert not alive(pid)


async def test_what_a_job_leaves_running_ends_with_it(either_home):
    """
    The job is over when its script is; what it left behind is ended first, and its own result stands.
    """
    home = either_home
    handle = await home.submit(DETACHED.replace("wait\n", "sleep 0.3\n") + "exit 6")
    report = await home.end_of(handle)

    assert (Reason.EXIT_CODE, 6) == (report.reason, report.exit_code)
    assert not [pid for pid in pids(home, 4) if alive(pid)]


async def test_a_job_that_closes_its_output_runs_on(home):
    report = await home.run("exec >&- 2>&- <&-; sleep 0.2; echo x >late; exit 4")

    assert 4 == report.exit_code
    assert "x\n" == home.read("late")


async def test_a_storm_of_forks_is_ended(either_home):
    """
    Each process is gone before it can be counted, and its child goes on.
    """
    home = either_home
    storm = "import os, signal\nsignal.signal(15, signal.SIG_IGN)\nopen('ready', 'w').write('x')\n"
    (home.work / "storm.py").write_text(f"{storm}while True:\n    if os.fork(): os._exit(0)\n")
    handle = await home.submit(f"trap '' TERM; {sys.executable} storm.py & while :; do sleep 1; done")
    await home.wrote("ready")

    await home.manager.cancel(handle)
    report = await home.end_of(handle)

    assert Phase.CANCELLED is report.phase


async def test_a_signal_goes_to_the_jobs_processes_and_not_to_its_wrapper(home):
    handle = await home.submit(
        "trap 'echo got >got' USR2; echo x >ready; while [ ! -f got ]; do sleep 0.02; done; exit 9"
    )
    await home.wrote("ready")

    await home.manager.signal(handle, "USR2")
    report = await home.end_of(handle)

    assert 9 == report.exit_code
