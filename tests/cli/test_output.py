"""What is printed: plain where it must be, and harmless to a terminal."""

from __future__ import annotations

import io

import pytest

from bascule.cli import output
from bascule.errors import Mistake


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


class TestClean:
    def test_a_message_cannot_steer_the_terminal(self):
        assert "a�[31mb" == output.clean("a\x1b[31mb")

    def test_a_message_stays_on_one_line(self):
        assert "first second" == output.clean("first\n  second\r\n")

    def test_other_scripts_stay_as_they_are(self):
        assert "größer 任务" == output.clean("größer 任务")


class TestColours:
    @pytest.fixture(autouse=True)
    def _terminal(self, monkeypatch):
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")

    def test_a_terminal_has_them(self):
        assert "\x1b[31mx\x1b[0m" == output.coloured("x", output.RED, Screen())

    def test_a_pipe_has_none(self):
        assert "x" == output.coloured("x", output.RED, io.StringIO())

    @pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
    def test_whoever_wants_none_gets_none(self, monkeypatch, name, value):
        monkeypatch.setenv(name, value)

        assert "x" == output.coloured("x", output.RED, Screen())


class TestTell:
    def test_an_error_is_a_line_and_a_hint(self, capsys):
        output.tell(Mistake("no `x`", hint="write `y`"))

        assert ("", "bascule: no `x`\nhint: write `y`\n") == capsys.readouterr()

    def test_one_problem_is_told_once(self, capsys):
        output.tell(Mistake("`local` cannot run it: no time", problems=("no time",)))

        assert "bascule: `local` cannot run it: no time\n" == capsys.readouterr().err

    def test_every_problem_has_a_line(self, capsys):
        output.tell(Mistake("`f` has 2 problems", problems=("f:1: a", "f:2: b")))

        assert "bascule: `f` has 2 problems\n  f:1: a\n  f:2: b\n" == capsys.readouterr().err

    def test_a_terminal_that_is_gone_stops_nobody(self, monkeypatch):
        class Gone(io.StringIO):
            def write(self, text):
                raise OSError(5, "Input/output error")

        monkeypatch.setattr("sys.stderr", Gone())

        output.say("hello")


class TestData:
    def test_a_full_disk_is_no_bug(self, terminal):
        with open("/dev/full", "wb") as full:  # noqa: PTH123
            process = terminal.start("version", stdout=full)
            _, err = process.communicate(timeout=30)

        assert 75 == process.returncode
        assert err.startswith(b"bascule: stdout cannot be written: No space left on device\nhint: ")
        assert 2 == err.count(b"\n")


class TestTable:
    def test_columns_are_aligned_and_nothing_is_a_dash(self, capsys):
        output.table(("A", "LONG", "B"), [("1", "", "x y"), ("three", "4", "z")])

        assert "A       LONG   B\n1       -      x y\nthree   4      z\n" == capsys.readouterr().out
