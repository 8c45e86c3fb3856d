"""Two processes on one home: one drives, the other follows along and takes over."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from contextlib import closing

import pytest
from msgspec.structs import replace

from bascule.model import Condition, Job, JobSpec, Ref, Run, TargetRef, TargetStatus
from bascule.platforms.embedded.opening import open_store
from bascule.wiring import SystemClock
from tests.cli.conftest import read_until, until

pytestmark = pytest.mark.slow


@pytest.fixture
def driver(terminal):
    """Return a process that drives the home for as long as it is left alone."""
    process = terminal.start("run", terminal.script("long.sh", "echo begun", "sleep 60"))
    read_until(process, b"begun\n")
    return process


class TestFollowing:
    def test_the_second_gets_its_job_done(self, driver, command):
        assert "hello\n" == command("run", "--wrap", "echo hello").out

    def test_its_job_has_its_surroundings_though_the_first_hands_it_in(self, driver, terminal):
        surroundings = {"env": os.environ | {"MODULES": "loaded"}, "umask": 0o027}
        submission = terminal.start("submit", "--wrap", "echo $MODULES; umask", "-n", "mine", **surroundings)
        submission.communicate(timeout=30)
        terminal.run("wait", "mine")

        assert "loaded\n0027\n" == (terminal.folder / "mine.out").read_text()

    def test_both_see_the_same_job(self, driver, terminal):
        second = terminal.start("run", "long.sh")

        read_until(second, b"begun\n")

        assert driver.poll() is None

    def test_whoever_is_left_takes_over(self, driver, terminal):
        terminal.yaml(
            "chain.yaml",
            "first: run: {command: [sh, -c, 'while test ! -e end; do sleep 0.05; done']}",
            "second: run: {command: [echo, made it]}, after: [{job: first}]",
        )
        follower = terminal.start("run", "chain.yaml")
        until(lambda: b"Running" in terminal.run("get", "jobs", "first", "--cached").stdout, "the first runs")

        driver.kill()
        driver.wait()
        (terminal.folder / "end").touch()
        out, _ = follower.communicate(timeout=30)

        assert (0, b"second | made it\n") == (follower.returncode, out)


class TestSilence:
    async def test_a_target_that_is_silent_to_the_driver_is_told(self, terminal):
        """
        Who looks does not ask the target again: the driver has, and has written it down.
        """
        silent = Condition("Reachable", "False", "ProbeFailed", "nobody listens")
        async with open_store(terminal.home, SystemClock(), drive=True) as store:
            target = await store.target(Ref("default", "local"))
            await store.save_target(replace(target, status=TargetStatus(conditions=(silent,))))
            spec = JobSpec(target=TargetRef("local"), run=Run(command=("true",)))
            await store.create(Job(namespace="default", name="a", uid="", spec=spec))

            done = await asyncio.to_thread(terminal.run, "get", "jobs")

        assert 0 == done.returncode
        assert b"a      Pending" in done.stdout
        assert done.stderr.startswith(b"bascule: target `local` cannot be reached: nobody listens\nhint: ")


class TestStopped:
    @pytest.fixture
    def stopped(self, driver, terminal):
        """
        Return the driver, stopped between two writes: in the middle of one it would hold up other writers.
        """
        with closing(sqlite3.connect(terminal.home / "bascule.db", timeout=0, isolation_level=None)) as other:
            until(lambda: _stop(driver) and _may_write(other), "it is stopped between two writes")
        yield driver
        driver.send_signal(signal.SIGCONT)

    @pytest.mark.parametrize("line", ["get jobs", "describe job long"])
    def test_a_look_says_who_holds_everything_up(self, stopped, command, line):
        done = command(*line.split())

        assert 0 == done.code
        assert f"process {stopped.pid} (`bascule run`)" in done.err
        assert f"`kill -CONT {stopped.pid}` lets it go on" in done.err

    def test_whoever_waits_is_told(self, stopped, terminal):
        waiting = terminal.start("submit", "--wrap", "true")

        said = waiting.stderr.readline()
        stopped.send_signal(signal.SIGCONT)
        out, _ = waiting.communicate(timeout=30)

        assert f"process {stopped.pid} (`bascule run`)".encode() in said
        assert b"nothing moves" in said
        assert out.startswith(b"job/wrap wrap-")


class TestCrowd:
    @pytest.mark.alone
    @pytest.mark.timeout(300)
    def test_fifty_submit_at_once(self, terminal, command):
        """
        Each is a process, one of them drives at a time, and every job runs once.
        """
        processes = [
            terminal.start("submit", "--wrap", f"echo {number} >> {terminal.folder}/ran", "-n", f"job-{number}")
            for number in range(50)
        ]
        outs, said = zip(*(process.communicate(timeout=240) for process in processes), strict=True)
        codes = {process.returncode for process in processes}

        waited = command("wait", *[f"job-{number}" for number in range(50)])

        assert {0} == codes, [words for process, words in zip(processes, said, strict=True) if process.returncode]
        assert all(out.startswith(f"job/job-{number} job-{number}-".encode()) for number, out in enumerate(outs))
        assert (0, 50) == (waited.code, waited.out.count("Succeeded"))
        assert sorted(map(str, range(50))) == sorted((terminal.folder / "ran").read_text().split())


def _stop(process):
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGSTOP)
    until(lambda: os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT), "it stops")
    return True


def _may_write(connection):
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return False
    connection.execute("ROLLBACK")
    return True
