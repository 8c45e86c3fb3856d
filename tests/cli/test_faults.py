"""No traceback for anybody: foreseeable faults are told in a line, bugs go into a file."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest

from bascule.cli.faults import Border
from bascule.errors import Mistake, Refused
from tests.cli.conftest import BASCULE
from tests.needs import needs


def may_mount() -> bool:
    """Tell whether a read-only view can be made of a folder."""
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


class TestBorder:
    def test_a_bug_goes_into_a_file(self, tmp_path, capsys):
        border = Border()
        border.home = str(tmp_path)

        with border:
            {}["nothing"]

        (report,) = tmp_path.iterdir()
        said = capsys.readouterr().err
        assert 70 == border.code
        assert said.startswith("bascule: this is a bug in Bascule: KeyError: 'nothing'\nhint: ")
        assert str(report) in said
        assert "Traceback" not in said
        assert "Traceback" in report.read_text()
        assert 0o600 == report.stat().st_mode & 0o777

    def test_the_report_holds_no_arguments(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "argv", ["bascule", "run", "--wrap", "login --password canary"])
        border = Border()
        border.home = str(tmp_path)

        with border:
            raise ZeroDivisionError

        assert "canary" not in next(tmp_path.iterdir()).read_text()

    def test_of_several_faults_a_bug_is_told_first(self, tmp_path):
        border = Border()
        border.home = str(tmp_path)

        with border:
            raise ExceptionGroup("tasks", [Refused("no"), ExceptionGroup("more", [ValueError("bug")])])

        assert 70 == border.code

    def test_an_error_in_a_task_is_told_as_itself(self, capsys):
        with Border() as border:
            raise ExceptionGroup("tasks", [Mistake("wrong", hint="do right")])

        assert (64, "bascule: wrong\nhint: do right\n") == (border.code, capsys.readouterr().err)

    def test_an_interrupt_needs_no_words(self, capsys):
        with Border() as border:
            raise KeyboardInterrupt

        assert (130, "") == (border.code, capsys.readouterr().err)


class TestHome:
    @pytest.mark.parametrize("line", ["get jobs --cached", "get jobs", "submit job.yaml"])
    def test_one_of_a_newer_version_is_refused(self, terminal, command, line):
        terminal.yaml("job.yaml", "one: run: {command: ['true']}")
        command("apply", "-f", "job.yaml")
        with sqlite3.connect(terminal.home / "bascule.db") as database:
            database.execute("PRAGMA user_version = 99")
        database.close()

        done = command(*line.split())

        assert (64, "") == (done.code, done.out)
        assert "was written by a newer Bascule" in done.err

    def test_a_file_is_none(self, terminal, command):
        terminal.home.touch()

        done = command("get", "jobs")

        assert 64 == done.code
        assert "is no folder" in done.err

    def test_a_damaged_one_stops_new_submits(self, terminal, command):
        terminal.home.mkdir(mode=0o700)
        (terminal.home / "bascule.db").write_bytes(b"this is no database" * 1000)

        done = command("run", terminal.script("x.sh", "true"))

        assert 75 == done.code
        assert "is damaged" in done.err

    @needs("a read-only folder", may_mount, hint="run the tests as root")
    def test_a_read_only_one_can_be_looked_at_and_not_written(self, terminal, command):
        terminal.yaml("job.yaml", "one: run: {command: ['true']}")
        command("apply", "-f", "job.yaml")
        mount = f"mount --bind {terminal.home} {terminal.home} && mount -o remount,ro,bind {terminal.home} && exec "

        def run(*line: str) -> subprocess.CompletedProcess[bytes]:
            return subprocess.run(
                ["unshare", "-m", "sh", "-c", mount + ' "$@"', "-", *BASCULE, *line],
                capture_output=True,
                timeout=30,
                env={**os.environ},
            )

        seen, written = run("get", "jobs", "--cached"), run("submit", "job.yaml")

        assert (0, b"") == (seen.returncode, seen.stderr)
        assert b"one" in seen.stdout
        assert 75 == written.returncode
        assert b"is read-only" in written.stderr
        assert b"hint: " in written.stderr


class TestFiles:
    def test_every_fault_is_told_at_once_and_nothing_is_stored(self, terminal, command):
        terminal.yaml("job.yaml", "one: run: {command: ['true']}", "two: run: {command: true}, nodse: 1")

        done = command("submit", "job.yaml")

        assert 64 == done.code
        assert "job.yaml:" in done.err
        assert "nodse" in done.err
        assert "run.command" in done.err
        assert "no jobs\n" == command("get", "jobs", "--cached").err

    def test_what_the_manager_cannot_do_is_told_of_all_jobs(self, terminal, command):
        terminal.yaml(
            "job.yaml",
            "one: run: {command: ['true']}",
            "two: run: {command: ['true']}, resources: {nodes: 2}",
            "three: run: {command: ['true']}, options: {color: red}",
        )

        done = command("submit", "job.yaml")

        assert 64 == done.code
        assert "2 jobs cannot be accepted" in done.err
        assert "nodes" in done.err
        assert "color" in done.err
        assert "no jobs\n" == command("get", "jobs", "--cached").err
