"""A job is named as we print it, too: `job/NAME`."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.long


@pytest.fixture
def ended(terminal, command):
    """Return the name of a job that is over."""
    assert 0 == command("run", terminal.script("one.sh", "echo text > made.txt", "echo said")).code
    return "one"


@pytest.mark.parametrize(
    "line",
    [
        "get job {}",
        "get jobs {}",
        "get {}",
        "describe job {}",
        "describe {}",
        "logs {}",
        "wait {}",
        "cancel {}",
        "release {}",
        "files {}",
        "fetch {} made.txt -o -",
        "delete job {}",
        "delete {}",
    ],
)
@pytest.mark.parametrize("form", ["job/one", "jobs/one"])
def test_a_name_is_taken_as_it_is_printed(ended, command, line, form):
    done = command(*line.format(form).split())

    assert 0 == done.code, done.err
    assert done.out


def test_a_target_is_too(command):
    assert 0 == command("target", "check", "target/local").code
    assert command("get", "targets", "local").out.split()[5:7] == command("get", "target/local").out.split()[5:7]
    assert 0 == command("describe", "target", "target/local").code


def test_a_job_needs_no_kind_where_there_is_no_other(ended, command):
    assert command("describe", "one", "--cached").out == command("describe", "job", "one", "--cached").out
    assert "job/one was over already" in command("cancel", "job", "one").out
    assert "job/one Succeeded" in command("wait", "job", "one").out


def test_a_job_may_be_called_job(ended, terminal, command):
    command("run", terminal.script("job", "true"))

    assert ["job/job", "job/one"] == [line.split()[0] for line in command("cancel", "job", "one").out.splitlines()]
