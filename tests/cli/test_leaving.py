"""Leaving a job: it goes on, and whoever left is told how to come back."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from bascule.cli.exits import CLOSED_PIPE, Exit
from tests.cli.conftest import BASCULE, read_until, until
from tests.cli.screens import take_terminal

pytestmark = pytest.mark.slow


@pytest.fixture
def running(terminal):
    """Return a `run` that has shown the first line of a job that goes on for a while."""
    process = terminal.start("run", terminal.script("job.sh", "echo begun", "while test ! -e end; do sleep 0.05; done"))
    read_until(process, b"begun\n")
    return process


def phase_of(command, name="job") -> str:
    return command("get", "jobs", name).out.splitlines()[1].split()[1]


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
    def test_it_detaches_and_says_how_to_come_back(self, running, terminal, command, number):
        running.send_signal(number)
        _, err = running.communicate(timeout=30)

        assert 128 + number == running.returncode
        assert b"detached from job/job: it goes on by itself\n" in err
        assert f"`bascule run {terminal.folder}/job.sh`, `bascule logs -f job` or `bascule wait job`".encode() in err
        assert "Running" == phase_of(command)

    def test_one_comes_back_for_the_result(self, running, terminal, command):
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30)
        (terminal.folder / "end").touch()

        again = command("run", "job.sh")

        assert (0, "begun\n") == (again.code, again.out)
        assert "this attaches to it" in again.err

    def test_what_would_need_a_driver_is_told(self, terminal):
        terminal.yaml(
            "jobs.yaml",
            "a: run: {command: [sh, -c, 'echo begun; sleep 30']}, deadlines: {running: 1h}",
            "b: run: {command: ['true']}, after: [{job: a}]",
        )
        process = terminal.start("run", "jobs.yaml")
        read_until(process, b"begun\n")

        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)

        assert b"job/a: it goes on by itself; its deadlines would need somebody who drives this home" in err
        assert b"job/b: it is not submitted (waits for job `a`" in err
        assert b"`bascule serve` keeps everything moving meanwhile" in err

    def test_what_was_ignored_stays_ignored(self, terminal):
        """
        As with `nohup`, or in the background of a script.
        """
        process = terminal.start(
            "run",
            terminal.script("job.sh", "echo begun", "sleep 1"),
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
        read_until(process, b"begun\n")

        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=30)

        assert 0 == process.returncode

    def test_it_can_cancel_instead(self, terminal, command):
        process = terminal.start("run", terminal.script("job.sh", "echo begun", "sleep 60"), "--cancel-on-exit")
        read_until(process, b"begun\n")

        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)

        assert Exit.CANCELLED == process.returncode
        assert b"job/job Cancelled after" in err

    def test_a_second_signal_ends_it_at_once(self, terminal):
        """
        Cancelling takes its time here, as the job ignores TERM.
        """
        script = terminal.script("job.sh", "trap '' TERM", "echo begun", "while :; do sleep 0.1; done")
        process = terminal.start("run", script, "--cancel-on-exit")
        read_until(process, b"begun\n")
        process.send_signal(signal.SIGINT)
        read_line(process, b"cancelling")

        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)

        assert -signal.SIGINT == process.returncode


def read_line(process, text) -> bytes:
    while text not in (line := process.stderr.readline()):
        assert line
    return line


class TestPipes:
    def test_a_reader_that_leaves_ends_it_without_a_word(self, terminal, command):
        script = terminal.script("job.sh", "while :; do echo line; sleep 0.02; done")
        process = terminal.start("run", script)
        read_until(process, b"line\n")

        process.stdout.close()
        err = process.stderr.read()
        process.wait(timeout=30)

        assert CLOSED_PIPE == process.returncode
        assert b"Traceback" not in err
        assert b"rror" not in err
        assert "Running" == phase_of(command)

    @pytest.mark.parametrize("line", ["get jobs --cached", "describe job job --cached", "logs job --cached"])
    def test_other_commands_end_so_too(self, terminal, command, line):
        command("run", terminal.script("job.sh", "echo hello"))
        reading, writing = os.pipe()
        os.close(reading)

        process = terminal.start(*line.split(), stdout=writing)
        os.close(writing)
        _, err = process.communicate(timeout=30)

        assert (CLOSED_PIPE, b"") == (process.returncode, err)

    def test_a_slow_reader_does_not_stop_other_jobs(self, terminal, command):
        """
        The process that drives the home is blocked in a full pipe, and still drives.
        """
        script = terminal.script("job.sh", "head -c 3000000 /dev/zero", "sleep 30")
        process = terminal.start("run", script)
        read_until(process, b"\0")

        assert 0 == command("run", "--wrap", "echo other").code
        assert process.poll() is None


class TestKill:
    def test_whoever_is_killed_loses_nothing(self, running, terminal, command):
        running.kill()
        running.communicate()
        (terminal.folder / "end").touch()

        done = command("wait", "job")

        assert 0 == done.code
        assert done.out.startswith("job/job Succeeded after ")

    def test_a_terminal_that_closes_detaches(self, terminal, command):
        """
        The terminal of `run` goes away together with everything that was printed to.
        """
        leader, follower = os.openpty()
        process = subprocess.Popen(
            [*BASCULE, "run", terminal.script("job.sh", "sleep 30")],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
            preexec_fn=take_terminal,  # noqa: PLW1509 - no threads here
        )
        terminal.started.append(process)
        os.close(follower)
        until(lambda: (terminal.home / "bascule.db").exists() and "Running" in command("get", "jobs", "--cached").out)

        os.close(leader)
        process.wait(timeout=30)

        assert 128 + signal.SIGHUP == process.returncode
        assert "Running" == phase_of(command)
