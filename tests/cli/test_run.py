"""`run` shows a job and ends as it ends."""

from __future__ import annotations

import json

import pytest

from bascule.cli.exits import Exit


class TestEnds:
    @pytest.mark.parametrize(
        ("lines", "code", "result"),
        [
            (["echo hello"], 0, "Succeeded after"),
            (["exit 3"], 3, "Failed (ExitCode) after"),
            (["exit 143"], 143, "Failed (ExitCode) after"),
            (["kill -KILL $$"], 137, "Failed (Signal) after"),
        ],
    )
    def test_the_code_is_the_jobs(self, terminal, command, lines, code, result):
        done = command("run", terminal.script("job.sh", *lines))

        assert code == done.code
        assert f"job/job {result}" in done.err
        assert ("tells its story" in done.err) == bool(code)

    def test_a_walltime_that_runs_out_wins_over_the_code(self, terminal, command):
        done = command("run", terminal.script("job.sh", "trap 'exit 0' TERM", "sleep 60 & wait"), "--time", "1s")

        assert Exit.TIMED_OUT == done.code
        assert "job/job Failed (TimedOut) after 1" in done.err

    def test_a_cancelled_job_says_so(self, terminal, command):
        running = terminal.start("run", terminal.script("job.sh", "echo begun; sleep 60"))
        assert b"begun\n" == running.stdout.readline()

        cancelled = command("cancel", "job")
        _, err = running.communicate(timeout=30)

        assert (0, "job/job Cancelled: cancelled as asked\n") == (cancelled.code, cancelled.out)
        assert Exit.CANCELLED == running.returncode
        assert b"job/job Cancelled after" in err

    def test_a_program_that_is_not_there(self, terminal, command):
        terminal.yaml("job.yaml", "one: run: {command: [no-such-program]}")

        done = command("run", "job.yaml")

        assert Exit.NOT_STARTED == done.code
        assert "(StartFailed)" in done.err

    def test_a_job_that_is_not_met_by_what_it_waits_for(self, terminal, command):
        terminal.yaml("jobs.yaml", "a: run: {command: ['false']}", "b: run: {command: ['true']}, after: [{job: a}]")

        done = command("run", "jobs.yaml")

        assert 1 == done.code
        assert "job/a Failed (ExitCode)" in done.err
        assert "job/b Failed (DependencyNotMet)" in done.err


class TestOutput:
    def test_bytes_pass_through_unchanged(self, terminal):
        """
        No newline is added, no byte is decoded, and the two streams stay apart.
        """
        script = terminal.script("job.sh", r"printf '\000\377\r\n\033[31m%s' end", "printf 'wrong' >&2")

        done = terminal.run("run", script)

        assert b"\x00\xff\r\n\x1b[31mend" == done.stdout
        assert b"wrong" in done.stderr

    def test_a_word_of_ours_does_not_hang_on_a_line_of_the_jobs(self, terminal):
        done = terminal.run("run", terminal.script("job.sh", "printf 'wrong' >&2"))

        assert b"wrong\njob/job " in done.stderr

    @pytest.mark.slow
    def test_nothing_of_much_is_lost(self, terminal):
        script = terminal.script("job.sh", "head -c 20000000 /dev/zero | tr '\\0' x")

        done = terminal.run("run", script)

        assert 20_000_000 == len(done.stdout) == done.stdout.count(b"x")

    def test_output_and_error_in_one_file_are_shown_once(self, terminal, command):
        terminal.yaml("job.yaml", "one: run: {command: [echo, hello]}, output: all.txt, error: all.txt")

        assert "hello\n" == command("run", "job.yaml").out

    def test_lines_of_several_jobs_are_told_apart(self, terminal, command):
        terminal.yaml("jobs.yaml", "a: run: {command: [printf, 'one\\ntwo']}", "b: run: {command: [echo, three]}")

        done = command("run", "jobs.yaml")

        assert ["a | one", "a | two", "b | three"] == sorted(done.out.splitlines())

    @pytest.mark.slow
    def test_all_attempts_are_shown(self, terminal, command):
        terminal.yaml(
            "job.yaml",
            "one: run: {command: [sh, -c, 'test -e again && echo second || { echo first; touch again; exit 1; }']}, "
            "retry: {limit: 1, reasons: [ExitCode]}, output: '%j.out'",
        )

        done = command("run", "job.yaml")

        assert (0, "first\nsecond\n") == (done.code, done.out)
        assert "job/one Pending (Retrying), attempt 2" in done.err


class TestWhat:
    def test_a_command_line_is_a_job(self, command):
        assert "two\n" == command("run", "--wrap", "echo one two | cut -d' ' -f2").out

    def test_arguments_follow_two_dashes(self, terminal, command):
        script = terminal.script("job.sh", 'printf "<%s>" "$@"')

        assert "<--epochs><3 4>" == command("run", script, "--", "--epochs", "3 4").out

    @pytest.mark.parametrize("what", ["script", "yaml"])
    def test_stdin_is_a_file_too(self, terminal, what):
        path = (
            terminal.script("job.sh", "echo hello")
            if what == "script"
            else terminal.yaml("job.yaml", "one: run: {command: [echo, hello]}")
        )
        with open(path, "rb") as file:  # noqa: PTH123
            done = terminal.run("run", "-", stdin=file.read())

        assert (0, b"hello\n") == (done.returncode, done.stdout)

    def test_targets_of_a_file_come_first(self, terminal, command):
        target = (
            "apiVersion: bascule.dev/v1alpha1\nkind: BridgeTarget\nmetadata: {name: here}\nspec: {manager: local}\n"
        )
        job = "apiVersion: bascule.dev/v1alpha1\nkind: BridgeJob\nmetadata: {name: a}\n"
        (terminal.folder / "all.yaml").write_text(
            f"{job}spec: {{target: {{name: here}}, run: {{command: [echo, hello]}}}}\n---\n{target}"
        )

        assert "hello\n" == command("run", "all.yaml").out

    def test_it_runs_where_the_caller_is(self, terminal, command):
        terminal.yaml("job.yaml", "one: run: {command: [pwd]}")

        assert f"{terminal.folder}\n" == command("run", "job.yaml").out

    def test_a_name_is_for_one_job(self, terminal, command):
        terminal.yaml("jobs.yaml", "a: run: {command: ['true']}", "b: run: {command: ['true']}")

        done = command("run", "jobs.yaml", "-n", "c")

        assert 64 == done.code
        assert "holds 2 jobs" in done.err


class TestNameAgain:
    def test_the_same_work_is_attached_to(self, terminal, command):
        script = terminal.script("job.sh", "echo x >> ran; cat ran")
        first = command("run", script)

        second = command("run", script)

        assert (0, "x\n", "x\n") == (second.code, first.out, second.out)
        assert "job/job is over already" in second.err

    def test_other_work_is_a_mistake(self, terminal, command):
        command("run", terminal.script("job.sh", "echo one"))

        done = command("run", terminal.script("job.sh", "echo two"))

        assert (64, "") == (done.code, done.out)
        assert "differs in `run`" in done.err
        assert "`--replace`" in done.err

    def test_it_can_take_the_others_place(self, terminal, command):
        command("run", terminal.script("job.sh", "echo one"))

        assert "two\n" == command("run", terminal.script("job.sh", "echo two"), "--replace").out


class TestResult:
    def test_programs_get_the_whole_result(self, terminal, command):
        done = command("run", terminal.script("job.sh", "exit 72"), "--result", "result.json")

        result = json.loads((terminal.folder / "result.json").read_text())
        assert 72 == done.code == result["code"] == result["exitCode"]
        assert ("job", "Failed", "ExitCode", None, 1) == tuple(
            result[key] for key in ("name", "phase", "reason", "signal", "attempt")
        )

    def test_they_may_read_it_at_once(self, terminal, command):
        done = command("run", terminal.script("job.sh", "exit 7"), "--result", "-")

        assert 7 == json.loads(done.out)["code"]
        assert [] == [path for path in terminal.folder.iterdir() if path.name.startswith("-")]

    def test_of_several_jobs_it_is_a_list(self, terminal, command):
        terminal.yaml("jobs.yaml", "a: run: {command: ['true']}", "b: run: {command: ['false']}")

        done = command("run", "jobs.yaml", "--result", "result.json")

        results = json.loads((terminal.folder / "result.json").read_text())
        assert 1 == done.code
        assert [("a", 0), ("b", 1)] == [(result["name"], result["code"]) for result in results]
