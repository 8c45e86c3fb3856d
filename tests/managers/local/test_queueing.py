"""Waiting for room, holds, and what is said meanwhile."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from bascule.model import Phase, Resources

pytestmark = pytest.mark.long

ALL = {"resources": Resources(tasks=4)}


async def test_jobs_that_fit_run_at_once(home):
    handles = [await home.submit("sleep 0.5", name=f"job{n}") for n in range(4)]

    reports = [await home.becomes(handle, Phase.RUNNING) for handle in handles]

    assert [Phase.RUNNING] * 4 == [report.phase for report in reports]
    for handle in handles:
        await home.end_of(handle)


async def test_the_first_in_line_says_what_it_waits_for(home):
    blocker = await home.submit("sleep 60", resources=Resources(tasks=3))
    await home.becomes(blocker, Phase.RUNNING)
    first = await home.submit("true", resources=Resources(tasks=2))
    second = await home.submit("true")

    said = (await home.until(lambda report: report.why, first)).explanation
    behind = (await home.until(lambda report: report.state == "QUEUED", second)).explanation
    await home.manager.cancel(blocker)
    for handle in (blocker, first, second):
        await home.end_of(handle)

    assert "waits for 2 cpus (1 free)" == said
    assert "waits for the jobs before it" == behind


async def test_the_order_is_that_of_submission(home):
    handles = [await home.submit("echo $BASCULE_JOB >>ran; sleep 0.05", name=f"job{n}", **ALL) for n in range(6)]
    for handle in handles:
        await home.end_of(handle)

    assert [f"job{n}" for n in range(6)] == home.read("ran").split()


async def test_the_order_is_that_of_submission_also_when_the_supervisor_sees_them_at_once(home):
    await home.run("true")
    supervisor = await home.the_supervisor()

    os.kill(supervisor, signal.SIGSTOP)
    handles = [await home.submit("echo $BASCULE_JOB >>ran", name=name, **ALL) for name in "fedcba"]
    os.kill(supervisor, signal.SIGCONT)
    for handle in handles:
        await home.end_of(handle)

    assert [*"fedcba"] == home.read("ran").split()


async def test_a_held_job_starts_when_it_is_let_go(home):
    handle = await home.submit("echo x >ran", hold=True)
    await home.becomes(handle, Phase.HELD)
    await home.run("true")
    ran_while_held = home.read("ran")

    await home.manager.unhold(handle)
    report = await home.end_of(handle)

    assert not ran_while_held
    assert Phase.SUCCEEDED is report.phase


async def test_the_two_holds_are_two(home):
    """
    The end of our hold does not end the user's.
    """
    handle = await home.submit("true", held=True)
    await home.becomes(handle, Phase.HELD)
    await home.manager.hold(handle)

    await home.manager.release(handle)
    await home.run("true")
    between = await home.see(handle)
    await home.manager.unhold(handle)
    report = await home.end_of(handle)

    assert Phase.HELD is between.phase
    assert Phase.SUCCEEDED is report.phase


@pytest.mark.parametrize("way", ["unhold", "release"])
async def test_a_job_submitted_held_is_let_go_by_either(home, way):
    """
    Who sent it held may not know any more for whom.
    """
    handle = await home.submit("true", hold=True, held=True)
    await home.becomes(handle, Phase.HELD)

    await getattr(home.manager, way)(handle)
    report = await home.end_of(handle)

    assert Phase.SUCCEEDED is report.phase


async def test_a_waiting_job_can_be_held(home):
    blocker = await home.submit("while [ ! -f go ]; do sleep 0.02; done", **ALL)
    handle = await home.submit("true", **ALL)
    await home.becomes(blocker, Phase.RUNNING)

    await home.manager.hold(handle)
    await home.becomes(handle, Phase.HELD)
    (home.work / "go").touch()
    await home.end_of(blocker)
    await home.run("true")
    held = await home.see(handle)
    await home.manager.unhold(handle)

    assert Phase.HELD is held.phase
    assert Phase.SUCCEEDED is (await home.end_of(handle)).phase


async def test_of_hold_and_unhold_the_last_counts(home):
    handle = await home.submit("true", hold=True)
    await home.becomes(handle, Phase.HELD)

    await home.manager.unhold(handle)
    await home.manager.hold(handle)
    await home.manager.unhold(handle)

    assert Phase.SUCCEEDED is (await home.end_of(handle)).phase


async def test_a_supervisor_with_nothing_to_do_sleeps(home):
    """
    No busy loop: a running job that does nothing costs nothing.
    """
    handle = await home.submit("sleep 60")
    await home.becomes(handle, Phase.RUNNING)
    pid = await home.the_supervisor()
    await asyncio.sleep(0.2)
    before = switches(pid)

    await asyncio.sleep(1)

    after = switches(pid)
    await home.manager.cancel(handle)
    await home.end_of(handle)
    assert after - before <= 2


def switches(pid):
    return int(Path(f"/proc/{pid}/status").read_text().partition("\nvoluntary_ctxt_switches:")[2].split()[0])
