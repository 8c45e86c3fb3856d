"""Standard streams that were closed by whoever called, and results that go to what is no file."""

from __future__ import annotations

import json
import os
import subprocess
import threading

import pytest

from bascule.cli.exits import CLOSED_PIPE
from tests.cli.conftest import BASCULE

pytestmark = pytest.mark.long


def run_closed(terminal, redirection, *arguments):
    """Call the command by a shell, with a stream closed."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {redirection}', "sh", *BASCULE, *arguments],
        cwd=terminal.folder,
        capture_output=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("line", ["get jobs --cached", "run job.sh"])
def test_a_closed_stdout_ends_it_as_a_closed_pipe_does(terminal, command, line):
    """
    Descriptor 1 is free then, and what is opened next must not get the job's output.
    """
    command("run", terminal.script("job.sh", "echo hello"))

    done = run_closed(terminal, ">&-", *line.split())

    assert CLOSED_PIPE == done.returncode
    assert b"rror" not in done.stderr


def test_a_closed_stderr_stops_nothing(terminal):
    terminal.script("job.sh", "echo hello", "echo trouble >&2", "echo bye")

    done = run_closed(terminal, "2>&-", "run", "job.sh")

    assert (0, b"hello\nbye\n") == (done.returncode, done.stdout)


def test_a_result_is_written_into_a_pipe_and_not_in_its_place(terminal, command):
    pipe = terminal.folder / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()

    done = command("run", terminal.script("job.sh", "exit 3"), "--result", "pipe")
    reader.join(timeout=30)

    assert 3 == done.code == json.loads(read[0])["code"]
    assert pipe.is_fifo()


def test_a_result_is_written_through_a_link(terminal, command):
    (terminal.folder / "link").symlink_to("result.json")

    command("run", terminal.script("job.sh", "exit 3"), "--result", "link")

    assert 3 == json.loads((terminal.folder / "result.json").read_text())["code"]
    assert (terminal.folder / "link").is_symlink()
