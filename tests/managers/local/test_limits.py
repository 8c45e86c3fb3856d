"""Walltime, warning and memory: what ends a job that does not end by itself, and what is said of it."""

import sys
import time
from datetime import timedelta

import pytest

from bascule.managers.local import cgroups
from bascule.model import Duration, Phase, Quantity, Reason, Resources, Run, Warn
from tests.managers.local.homes import alive
from tests.needs import needs_cgroup

pytestmark = pytest.mark.slow

GREEDY = "blocks = []\nfor _ in range(400): blocks.append(bytearray(1 << 20))\n"


def limited(**seconds):
    return Resources(walltime=Duration(**seconds))


async def test_the_walltime_wins_over_the_exit_code(home):
    """
    A script that catches TERM and ends well has timed out all the same.
    """
    report = await home.run("trap 'exit 0' TERM; while :; do sleep 0.02; done", resources=limited(seconds=0.3))

    assert (Phase.FAILED, Reason.TIMED_OUT, 0) == (report.phase, report.reason, report.exit_code)
    assert "0.3s" in report.explanation


async def test_at_its_walltime_a_job_ends_even_if_it_ignores_term(home):
    handle = await home.submit(
        "trap '' TERM; echo $$ >pid; while :; do sleep 0.02; done", resources=limited(seconds=0.3)
    )
    report = await home.end_of(handle)

    assert (Reason.TIMED_OUT, 9) == (report.reason, report.signal)
    assert not alive(int(home.read("pid")))


async def test_time_in_the_queue_does_not_count(home):
    blocker = await home.submit("sleep 0.6", resources=Resources(tasks=4))
    await home.becomes(blocker, Phase.RUNNING)

    report = await home.run("sleep 0.1", resources=limited(seconds=0.5))

    assert Phase.SUCCEEDED is report.phase


async def test_a_longer_walltime_counts_from_the_start(home):
    handle = await home.submit("sleep 1.2", resources=limited(seconds=0.7))
    await home.becomes(handle, Phase.RUNNING)

    await home.manager.update(handle, timedelta(minutes=1))
    report = await home.end_of(handle)

    assert Phase.SUCCEEDED is report.phase


async def test_a_shorter_walltime_that_is_over_ends_the_job_at_once(home):
    handle = await home.submit("sleep 60", resources=limited(hours=1))
    await home.becomes(handle, Phase.RUNNING)

    await home.manager.update(handle, timedelta(seconds=0.1))
    report = await home.end_of(handle)

    assert Reason.TIMED_OUT == report.reason


async def test_the_walltime_holds_across_a_killed_supervisor(home):
    began = time.monotonic()
    handle = await home.submit("sleep 60", resources=limited(seconds=1))
    await home.becomes(handle, Phase.RUNNING)
    home.kill_supervisor()

    report = await home.end_of(handle)

    assert Reason.TIMED_OUT == report.reason
    assert time.monotonic() - began < 5


async def test_the_warning_reaches_whoever_listens_and_ends_nobody_else(home):
    """
    The script listens; its `sleep`, for which USR1 would be the end, is spared.
    """
    report = await home.run(
        "trap 'echo warned >warned' USR1; sleep 0.8 & wait $!; wait $!; echo $? >slept; exit 5",
        resources=limited(seconds=5),
        signal=Warn("USR1", Duration(seconds=4.6)),
    )

    assert "warned\n" == home.read("warned")
    assert "0\n" == home.read("slept")
    assert (Reason.EXIT_CODE, 5) == (report.reason, report.exit_code)


async def test_a_job_is_warned_once(home):
    script = "trap 'echo warned >>warned' USR1; while :; do sleep 0.02; done"
    handle = await home.submit(script, resources=limited(seconds=1.5), signal=Warn("USR1", Duration(seconds=1)))
    await home.wrote("warned")
    home.kill_supervisor()

    report = await home.end_of(handle)

    assert Reason.TIMED_OUT == report.reason
    assert "warned\n" == home.read("warned")


@needs_cgroup
async def test_a_job_that_outgrows_its_memory_is_told_so(home):
    report = await home.run(
        run=Run(command=(sys.executable, "-c", GREEDY)), resources=Resources(memory_per_node=Quantity("48Mi"))
    )

    assert (Phase.FAILED, Reason.OUT_OF_MEMORY) == (report.phase, report.reason)
    assert "marker" == report.source


@needs_cgroup
async def test_a_child_that_is_killed_for_memory_is_the_reason_of_the_failure(home):
    """
    The script itself only sees a failed command, and ends with a code of its own.
    """
    report = await home.run(
        f"{sys.executable} -c '{GREEDY}' || exit 8", resources=Resources(memory_per_node=Quantity("48Mi"))
    )

    assert (Reason.OUT_OF_MEMORY, 8) == (report.reason, report.exit_code)


@needs_cgroup
async def test_what_fits_into_its_memory_is_not_disturbed(home):
    report = await home.run(
        f"{sys.executable} -c 'bytearray(10 << 20)'", resources=Resources(memory_per_node=Quantity("64Mi"))
    )

    assert Phase.SUCCEEDED is report.phase


@needs_cgroup
@pytest.mark.parametrize("end", ["true", "kill -9 $$", "sleep 60"])
async def test_no_cgroup_is_left(home, end):
    handle = await home.submit(end, resources=Resources(memory_per_node=Quantity("64Mi"), walltime=Duration(seconds=1)))
    await home.end_of(handle)

    assert not cgroups.Cgroups(cgroups.find(), home.spool.place).strays()
