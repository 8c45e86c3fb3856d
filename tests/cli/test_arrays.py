"""Arrays on the command line: all tasks at once, and one by its index."""

from __future__ import annotations

import json

import pytest

from bascule.cli.exits import Exit
from tests.cli.conftest import read_until, until

pytestmark = pytest.mark.long

SAYS = "echo one $BASCULE_TASK_INDEX; echo two $BASCULE_TASK_INDEX; echo bad $BASCULE_TASK_INDEX >&2"
FAILS = f"{SAYS}; test $BASCULE_TASK_INDEX -lt 2"


def array(terminal, script, indices="0-3", more=""):
    """Write a file with an array; return its name."""
    spec = f"sweep: run: {{command: [sh, -c, '{script}']}}, array: {{indices: '{indices}'}}{more}"
    return terminal.yaml("sweep.yaml", spec)


@pytest.fixture
def failed(terminal, command):
    """Return an array of which two tasks have failed, and how it was run."""
    return command("run", array(terminal, FAILS), "--result", "result.json")


@pytest.fixture
def waiting(terminal, command):
    """Return an array whose tasks wait for the file `go`."""
    assert 0 == command("submit", array(terminal, f"{SAYS}; while test ! -e go; do sleep 0.05; done", "0-1")).code
    until(lambda: "Running" in command("get", "jobs").out, "it runs")
    return "sweep"


class TestRun:
    def test_it_fails_with_1_and_says_which_failed(self, failed):
        assert 1 == failed.code
        assert "job/sweep Failed (ExitCode) after" in failed.err
        assert "4 of 4 done, 2 failed (2-3); task 2: exit code 1" in failed.err

    def test_each_line_is_after_its_index(self, failed):
        lines = failed.out.splitlines()

        assert {f"{index} | {word} {index}" for index in range(4) for word in ("one", "two")} == set(lines)
        assert "3 | bad 3" in failed.err

    def test_its_result_counts_the_tasks(self, failed, terminal):
        result = json.loads((terminal.folder / "result.json").read_text())

        assert (1, None) == (result["code"], result["exitCode"])
        assert {"total": 4, "succeeded": 2, "failed": 2, "failedIndices": "2-3"} == result["tasks"]

    def test_all_that_succeed_are_a_success(self, terminal, command):
        done = command("run", array(terminal, "printf unended", "0-1"))

        assert 0 == done.code
        assert {"0 | unended", "1 | unended"} == set(done.out.splitlines())

    def test_progress_is_told_in_steps(self, terminal, command):
        done = command("run", array(terminal, "sleep 0.05", "0-59"))

        told = [line for line in done.err.splitlines() if " done" in line]
        assert 1 < len(told) <= 12

    def test_wait_ends_with_the_same(self, failed, command):
        done = command("wait", "sweep")

        assert 1 == done.code
        assert "2 failed (2-3)" in done.out


class TestLooking:
    def test_the_wide_table_counts(self, failed, command):
        assert "4/4, 2 failed" in command("get", "jobs", "-o", "wide").out

    def test_describe_tells(self, failed, command):
        text = command("describe", "job", "sweep").out

        assert "tasks         4 of 4 done, 2 failed (2-3)\n" in text
        assert "failed tasks  2-3\n" in text
        assert ["array", "0-3"] in [line.split() for line in text.splitlines()]


class TestLogs:
    def test_of_all_tasks(self, failed, command):
        expected = [f"{index} | {word} {index}" for index in range(4) for word in ("one", "two")]

        assert expected == command("logs", "sweep").out.splitlines()

    def test_of_one_task_are_its_bytes(self, failed, command):
        assert "one 2\ntwo 2\n" == command("logs", "sweep", "--index", "2").out
        assert "bad 2\n" == command("logs", "sweep", "--index", "2", "--error").out

    def test_the_last_lines_of_each(self, failed, command):
        assert [f"{index} | two {index}" for index in range(4)] == command(
            "logs", "sweep", "--tail", "1"
        ).out.splitlines()
        assert "two 3\n" == command("logs", "sweep", "--tail", "1", "--index", "3").out

    def test_all_are_followed(self, waiting, terminal, command):
        following = terminal.start("logs", "-f", "sweep")
        read = read_until(following, b"1 | two 1\n")
        (terminal.folder / "go").touch()
        rest, _ = following.communicate(timeout=30)

        assert 0 == following.returncode
        assert 4 == len((read + rest).splitlines())

    def test_one_is_followed(self, waiting, terminal, command):
        following = terminal.start("logs", "-f", "sweep", "--index", "1")
        read_until(following, b"two 1\n")
        (terminal.folder / "go").touch()

        assert (b"", 0) == (following.communicate(timeout=30)[0], following.returncode)

    def test_a_task_that_is_not_there(self, failed, command):
        done = command("logs", "sweep", "--index", "7")

        assert Exit.MISTAKE == done.code
        assert "job `sweep` has no task 7" in done.err
        assert "hint: its indices are `0-3`" in done.err

    def test_a_job_that_is_no_array(self, terminal, command):
        command("run", terminal.script("a.sh", "true"))

        for name in ("logs", "cancel"):
            done = command(name, "a", "--index", "0")

            assert Exit.MISTAKE == done.code
            assert "job `a` is no array" in done.err


class TestCancel:
    def test_one_task(self, waiting, terminal, command):
        done = command("cancel", "sweep", "--index", "0")
        until(lambda: "1 cancelled" in command("describe", "job", "sweep").out, "it is seen")
        (terminal.folder / "go").touch()
        end = command("wait", "sweep")

        assert (0, "job/sweep task 0: the manager was asked to end it\n") == (done.code, done.out)
        assert Exit.CANCELLED == end.code
        assert "2 of 2 done, 1 cancelled" in end.out

    def test_the_whole(self, waiting, command):
        assert command("cancel", "sweep").out.startswith("job/sweep Cancelled")

    def test_what_is_over_stays_as_it_is(self, failed, command):
        done = command("cancel", "sweep", "--index", "1")

        assert 0 == done.code
        assert "the job was over already: Failed" in done.out

    def test_what_is_not_submitted(self, terminal, command):
        command("apply", "-f", array(terminal, "true", more=", suspend: true"))

        done = command("cancel", "sweep", "--index", "1")

        assert Exit.TEMPORARY == done.code
        assert "not submitted yet" in done.err

    @pytest.mark.parametrize("line", ["a b --index 1", "-l a=b --index 1", "--index 1", "sweep --index x"])
    def test_it_is_for_one_array(self, command, line):
        assert Exit.MISTAKE == command("cancel", *line.split()).code
