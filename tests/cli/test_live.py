"""The live display, on a real terminal."""

from __future__ import annotations

import pytest

from tests.cli.screens import Screen

pytestmark = pytest.mark.long


@pytest.fixture
def screen(terminal, monkeypatch):
    """Return a function that runs a command on a terminal."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    open_ = []

    def run(*arguments: str) -> Screen:
        open_.append(Screen(*arguments, folder=terminal.folder))
        return open_[-1]

    yield run
    for one in open_:
        one.close()


def test_it_shows_state_time_and_output(terminal, screen):
    script = terminal.script("job.sh", "echo first line", "printf 'half a line'", "sleep 1", "echo", "exit 3")

    seen = screen("run", script, "--time", "1m")

    assert 3 == seen.end()
    assert "first line\r\n" in seen.text
    assert "half a line" in seen.text
    assert "job  Running on local" in seen.text
    assert "━" in seen.text
    assert "s of 1m" in seen.text
    assert "job/job Failed (ExitCode) after 1." in seen.text
    assert seen.text.endswith("hint: `bascule describe job job` tells its story\r\n")


def test_it_says_why_a_job_waits(terminal, screen):
    terminal.yaml(
        "jobs.yaml",
        "a: run: {command: [sh, -c, 'while test ! -e end; do sleep 0.05; done']}",
        "b: run: {command: ['true']}, after: [{job: a}]",
    )

    seen = screen("run", "jobs.yaml")

    seen.until(r"b: waits for job `a`")
    (terminal.folder / "end").touch()
    assert 0 == seen.end()
    assert "job/a Succeeded after" in seen.text
    assert "job/b Succeeded after" in seen.text


def test_output_cannot_steer_the_terminal(terminal, screen):
    """
    Colours of the job are kept; moves, titles and bells are not.
    """
    script = terminal.script("job.sh", r"printf '\033[32mgreen\033[0m \033[2J\033]0;title\007\007end\n'")

    seen = screen("run", script)

    assert 0 == seen.end()
    assert "\x1b[32mgreen" in seen.raw
    assert not [part for part in ("\x1b[2J", "\x1b]0;", "\x07") if part in seen.raw]


def test_ctrl_c_leaves_the_terminal_as_it_was(terminal, screen):
    seen = screen("run", terminal.script("job.sh", "echo begun", "sleep 60"))
    seen.until("begun")

    seen.type("\x03")

    assert 130 == seen.end()
    assert "detached from job/job: it goes on by itself" in seen.text
    assert seen.raw.rindex("\x1b[?25h") > seen.raw.rindex("\x1b[?25l"), "the cursor is hidden"


def test_a_flood_is_counted_and_not_shown(terminal, screen):
    seen = screen(
        "run", terminal.script("job.sh", "head -c 5000000 /dev/zero | tr '\\0' x | fold -w 80; echo last words")
    )

    assert 0 == seen.end()
    assert "last words\r\n" in seen.text
    assert "bytes are not shown here; `bascule logs job` has them all" in seen.text
    assert 1_000_000 > len(seen.raw)


def test_without_colours_it_is_still_readable(terminal, screen, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")

    seen = screen("run", terminal.script("job.sh", "echo hello"))

    assert 0 == seen.end()
    assert "job/job Succeeded after" in seen.raw
    assert "\x1b[3" not in seen.raw


def test_whoever_waits_sees_it_too(terminal, screen):
    terminal.yaml("job.yaml", "a: run: {command: [sh, -c, 'while test ! -e end; do sleep 0.05; done; exit 3']}")
    terminal.run("submit", "job.yaml")

    seen = screen("wait", "a")

    seen.until(r"a  Running on local")
    (terminal.folder / "end").touch()
    assert 3 == seen.end()
    assert "job/a Failed (ExitCode) after" in seen.text


def test_a_wide_table_keeps_to_the_lines(terminal, screen):
    terminal.run("run", terminal.script("a.sh", "exit 3"), "-n", "a" * 20)

    seen = screen("get", "jobs", "-o", "wide", "--cached")

    assert 0 == seen.end()
    assert "MESSAGE" in seen.text
    assert "…\r\n" in seen.text
