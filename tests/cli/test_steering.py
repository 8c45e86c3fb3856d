"""Wishes about jobs that are there."""

from __future__ import annotations

import pytest

from tests.cli.conftest import until


@pytest.fixture
def full(terminal, command):
    """Return the name of a job that waits because another takes the whole machine."""
    target = "apiVersion: bascule.dev/v1alpha1\nkind: BridgeTarget\nmetadata: {name: local}\n"
    (terminal.folder / "target.yaml").write_text(f"{target}spec: {{manager: local, options: {{cpus: 1}}}}\n")
    terminal.yaml("first.yaml", "first: run: {command: [sleep, '60']}")
    terminal.yaml("second.yaml", "second: run: {command: ['true']}")
    assert 0 == command("apply", "-f", "target.yaml").code
    assert 0 == command("submit", "first.yaml").code
    until(lambda: "first" in command("get", "jobs", "--phase", "Running").out, "the first runs")
    assert 0 == command("submit", "second.yaml").code
    return "second"


class TestCancel:
    def test_a_job_that_waits(self, full, command):
        done = command("cancel", full)

        assert 0 == done.code
        assert done.out.startswith("job/second Cancelled")

    def test_a_job_that_is_not_submitted(self, terminal, command):
        terminal.yaml("job.yaml", "a: run: {command: ['true']}")
        command("apply", "-f", "job.yaml")

        assert command("cancel", "a").out.startswith("job/a Cancelled: cancelled before it was submitted")

    def test_a_job_that_is_over_stays_as_it_is(self, terminal, command):
        command("run", terminal.script("a.sh", "exit 3"))

        done = command("cancel", "a")

        assert 0 == done.code
        assert done.out.startswith("job/a was over already: Failed (ExitCode)")

    def test_all_with_a_label(self, terminal, command):
        for name, project in (("a", "mine"), ("b", "mine"), ("c", "other")):
            (terminal.folder / name).write_text(
                "apiVersion: bascule.dev/v1alpha1\nkind: BridgeJob\n"
                f"metadata: {{name: {name}, labels: {{project: {project}}}}}\n"
                "spec: {target: {name: local}, run: {command: [sleep, '60']}}\n"
            )
        (terminal.folder / "all.yaml").write_text("---\n".join((terminal.folder / name).read_text() for name in "abc"))
        command("apply", "-f", "all.yaml")

        done = command("cancel", "-l", "project=mine")

        assert ["job/a Cancelled", "job/b Cancelled"] == [line[:15] for line in done.out.splitlines()]
        assert "job/c\n" == command("get", "jobs", "--phase", "Pending,Running,Queued,Submitting", "-o", "name").out


class TestHold:
    def test_it_is_held_and_released(self, full, command):
        held = command("hold", full)
        command("cancel", "first")
        released = command("release", full)

        assert (0, 0) == (held.code, released.code)
        assert held.out.startswith("job/second Held")
        assert 0 == command("wait", full).code

    def test_a_job_that_runs_cannot_be_held(self, full, command):
        done = command("hold", "first")

        assert 64 == done.code
        assert "job `first` cannot be held: it is Running" in done.err

    def test_a_suspended_one_is_released_too(self, terminal, command):
        terminal.yaml("job.yaml", "a: run: {command: ['true']}, suspend: true")
        command("submit", "job.yaml")

        assert 0 == command("release", "a").code
        assert 0 == command("wait", "a").code


class TestDelete:
    def test_a_job_that_runs_is_cancelled_first(self, full, command):
        done = command("delete", "job", "first", full)

        assert (0, "job/first deleted\njob/second deleted\n") == (done.code, done.out)
        assert "no jobs\n" == command("get", "jobs").err

    def test_a_target_that_is_needed_stays(self, full, command):
        done = command("delete", "target", "local")

        assert 64 == done.code
        assert "target `local` is needed by jobs that live: first, second" in done.err

    def test_a_target_that_is_not(self, terminal, command):
        (terminal.folder / "t.yaml").write_text(
            "apiVersion: bascule.dev/v1alpha1\nkind: BridgeTarget\nmetadata: {name: other}\nspec: {manager: local}\n"
        )
        command("apply", "-f", "t.yaml")

        assert "target/other deleted\n" == command("delete", "target", "other").out
        assert "target/local\n" == command("get", "targets", "-o", "name").out

    def test_what_is_not_there(self, command):
        assert 64 == command("delete", "job", "a").code
        assert 64 == command("delete", "target", "a").code


class TestWaitAndRelease:
    def test_a_wait_of_no_time_is_a_question(self, full, command):
        """It was taken for a bug of ours."""
        assert 76 == command("wait", full, "--timeout", "0s").code

    def test_a_job_submitted_held_runs_when_it_is_released(self, terminal, command):
        terminal.yaml("job.yaml", "held: run: {command: ['true']}, hold: true")
        command("submit", "job.yaml")

        released = command("release", "held")

        assert 0 == released.code
        assert 0 == command("wait", "held", "--timeout", "30s").code
