"""`submit` accepts, submits and goes; `apply` only accepts; `wait` comes back."""

from __future__ import annotations

import pytest

from bascule.cli.exits import Exit


class TestSubmit:
    def test_it_prints_name_and_id(self, terminal, command):
        terminal.yaml("jobs.yaml", "a: run: {command: ['true']}", "b: run: {command: ['true']}")

        done = command("submit", "jobs.yaml", terminal.script("c.sh", "true"))

        assert (0, "") == (done.code, done.err)
        assert ["job/a a-", "job/b b-", "job/c c-"] == [line[:8] for line in done.out.splitlines()]

    def test_a_job_that_waits_is_said_to(self, terminal, command):
        terminal.yaml("jobs.yaml", "a: run: {command: [sleep, '30']}", "b: run: {command: ['true']}, after: [{job: a}]")

        done = command("submit", "jobs.yaml")

        assert 0 == done.code
        assert done.out.endswith("\njob/b\n")
        assert "job/b is accepted, and not submitted: waits for job `a`" in done.err
        assert "hint: it goes on while `bascule serve` or `bascule wait b` runs" in done.err

    def test_a_suspended_job_says_how_to_go_on(self, terminal, command):
        terminal.yaml("job.yaml", "a: run: {command: ['true']}, suspend: true")

        assert "`bascule release a` lets it go on" in command("submit", "job.yaml").err

    def test_what_the_manager_refuses_has_its_code(self, terminal, command):
        terminal.yaml("job.yaml", "a: run: {command: ['true']}, resources: {cpusPerTask: 60000}")

        done = command("submit", "job.yaml")

        assert Exit.REFUSED == done.code
        assert "job/a Failed (Refused)" in done.err
        assert "60000" in done.err

    @pytest.mark.parametrize(("last", "code", "end"), [("exit 3", 3, "Failed (ExitCode)"), ("true", 0, "Succeeded")])
    def test_a_job_that_is_over_is_not_submitted_again(self, terminal, command, last, code, end):
        script = terminal.script("a.sh", last)
        first = command("submit", script)
        command("wait", "a")

        again = command("submit", script)

        assert (code, first.out) == (again.code, again.out)
        assert f"job/a is over already, so nothing was submitted: {end}" in again.err
        assert "hint: `--replace` runs it again" in again.err
        assert (0, "") == (command("submit", script, "--replace").code, command("wait", "a").err)

    def test_lines_for_slurm_mean_nothing_here(self, terminal, command):
        script = terminal.script("a.sh", "#SBATCH --time=1:00:00", "#SBATCH -N 2", "true")

        done = command("submit", script)

        assert 0 == done.code
        assert 1 == done.err.count("these mean nothing on this machine: `--time=1:00:00`, `-N 2`")

    def test_no_such_target(self, terminal, command):
        done = command("submit", terminal.script("a.sh", "true"), "-t", "locla")

        assert (64, "") == (done.code, done.out)
        assert "there is no target `locla`" in done.err
        assert "did you mean `local`?" in done.err


class TestApply:
    def test_it_says_what_became_of_each(self, terminal, command):
        terminal.yaml("job.yaml", "a: run: {command: [sleep, '30']}")
        made = command("apply", "-f", "job.yaml")
        same = command("apply", "-f", "job.yaml")
        command("submit", "job.yaml")
        terminal.yaml("job.yaml", "a: run: {command: [sleep, '30']}, ttlAfterFinished: 1d")
        changed = command("apply", "-f", "job.yaml")
        terminal.yaml("job.yaml", "a: run: {command: [sleep, '31']}")
        frozen = command("apply", "-f", "job.yaml")

        assert ["job/a created\n", "job/a unchanged\n", "job/a changed\n"] == [made.out, same.out, changed.out]
        assert "nobody drives this home" in made.err
        assert 64 == frozen.code
        assert "`run` cannot change" in frozen.err

    def test_it_does_not_matter_from_where(self, terminal, command, monkeypatch):
        """
        The folder that a job was given when it was made stays its own.
        """
        path = terminal.yaml("job.yaml", "a: run: {command: ['true']}")
        command("apply", "-f", path)
        monkeypatch.chdir("/")

        assert "job/a unchanged\n" == command("apply", "-f", path).out

    def test_what_get_shows_can_be_applied_again(self, terminal, command):
        terminal.yaml("job.yaml", "a: run: {command: [sh, -c, 'true']}, resources: {walltime: 1m}")
        command("submit", "job.yaml")
        for form in ("yaml", "json"):
            (terminal.folder / "again").write_text(command("get", "jobs", "-o", form).out)

            assert "job/a unchanged\n" == command("apply", "-f", "again").out


class TestWait:
    def test_the_first_named_that_did_not_succeed_gives_the_code(self, terminal, command):
        terminal.yaml(
            "jobs.yaml",
            "good: run: {command: ['true']}",
            "three: run: {command: [sh, -c, 'sleep 0.5; exit 3']}",
            "four: run: {command: [sh, -c, 'exit 4']}",
        )
        command("submit", "jobs.yaml")

        done = command("wait", "good", "three", "four")

        assert 3 == done.code
        assert ["job/four Failed", "job/good Succee", "job/three Faile"] == sorted(
            line[:15] for line in done.out.splitlines()
        )

    def test_it_submits_what_was_only_applied(self, terminal, command):
        terminal.yaml("job.yaml", "a: run: {command: ['true']}")
        command("apply", "-f", "job.yaml")

        assert 0 == command("wait", "a").code

    def test_it_gives_up_when_told(self, terminal, command):
        terminal.yaml("job.yaml", "a: run: {command: [sleep, '30']}")
        command("submit", "job.yaml")

        done = command("wait", "a", "--timeout", "500ms")

        assert (Exit.STILL_WAITING, "") == (done.code, done.out)
        assert "job/a is not over after 0.5s: " in done.err

    def test_every_name_that_is_not_there_is_told(self, command):
        done = command("wait", "a", "b")

        assert 64 == done.code
        assert "there is no job `a`, `b`" in done.err

    @pytest.mark.slow
    def test_it_makes_the_next_attempt(self, terminal, command):
        terminal.yaml(
            "job.yaml",
            "a: run: {command: [sh, -c, 'test -e again || { touch again; exit 1; }']}, "
            "retry: {limit: 1, reasons: [ExitCode]}",
        )

        done = command("submit", "job.yaml") and command("wait", "a")

        assert 0 == done.code
        assert "job/a Pending (Retrying), attempt 2" in done.err
        assert "  1  Failed (ExitCode)  a-" in command("describe", "job", "a").out
