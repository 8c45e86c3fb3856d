"""`get`, `describe`, `logs`, `files` and `fetch` show what there is."""

from __future__ import annotations

import json

import pytest
import yaml

from bascule.cli.spans import age
from tests.cli.conftest import read_until, until

pytestmark = pytest.mark.long


@pytest.fixture
def failed(terminal, command):
    """Return the name of a job that has failed, with some output."""
    terminal.yaml(
        "job.yaml",
        "poor: run: {script: \"#!/bin/sh\\nseq 1000\\necho 'no input' >&2\\necho x > made.txt\\nexit 3\\n\"}, "
        "env: {TOKEN: canary}, resources: {walltime: 1h}",
    )
    assert 3 == command("run", "job.yaml").code
    return "poor"


class TestGet:
    def test_the_table(self, failed, command):
        head, row = command("get", "jobs").out.splitlines()

        assert ["NAME", "PHASE", "REASON", "TARGET", "ID", "AGE"] == head.split()
        assert ["poor", "Failed", "ExitCode", "local"] == row.split()[:4]

    def test_the_wide_table_has_the_message(self, failed, command):
        assert (
            command("get", "jobs", "-o", "wide").out.splitlines()[1].endswith("  1         3      -       exit code 3")
        )

    def test_one_object_and_a_list(self, failed, command):
        one = json.loads(command("get", "jobs", failed, "-o", "json").out)
        several = json.loads(command("get", "jobs", "-o", "json").out)
        written = yaml.safe_load(command("get", "jobs", "-o", "yaml").out)

        assert "BridgeJob" == one["kind"]
        assert (3, "Failed") == (one["status"]["exitCode"], one["status"]["phase"])
        assert [one] == several["items"]
        assert one == written

    def test_nothing_is_an_empty_list(self, command):
        assert [] == json.loads(command("get", "jobs", "-o", "json").out)["items"]

    @pytest.mark.parametrize(
        ("line", "count"), [("--phase failed", 1), ("--phase Running", 0), ("-l a=b", 0), ("poor", 1)]
    )
    def test_filters(self, failed, command, line, count):
        assert count == len(command("get", "jobs", *line.split(), "-o", "name").out.splitlines())

    def test_those_that_are_not_over(self, failed, terminal, command):
        terminal.yaml("more.yaml", "alive: run: {command: ['true']}, suspend: true")
        command("apply", "-f", "more.yaml")

        assert "job/alive\n" == command("get", "jobs", "--active", "-o", "name").out

    def test_nothing_took_longer_than_it_is_old(self):
        assert ["0s", "1s", "5s", "2m"] == [age(seconds) for seconds in (-1, 0.2, 4.6, 120)]

    def test_a_name_that_is_not_there(self, failed, command):
        for form in ((), ("-o", "json"), ("--cached",)):
            done = command("get", "jobs", failed, "other", *form)

            assert 64 == done.code
            assert "there is no job `other`" in done.err

    def test_a_list_is_whole_json_also_where_a_name_is_not_there(self, failed, command):
        done = command("get", "jobs", failed, "other", "-o", "json")

        assert [failed] == [job["metadata"]["name"] for job in json.loads(done.out)["items"]]

    def test_it_brings_itself_up_to_date(self, terminal, command):
        """
        Nobody drives when the job ends; the next look sees it all the same.
        """
        terminal.yaml(
            "job.yaml", "a: run: {command: [sh, -c, 'while test ! -e end; do sleep 0.05; done; touch ended']}"
        )
        command("submit", "job.yaml")
        (terminal.folder / "end").touch()
        until((terminal.folder / "ended").exists, "the job ends")

        cached = command("get", "jobs", "--cached")
        until(lambda: "Succeeded" in command("get", "jobs").out, "it is seen to be over")

        assert "Succeeded" not in cached.out

    def test_changes_come_as_they_happen(self, terminal, command):
        watching = terminal.start("get", "jobs", "--watch", "-o", "json")
        terminal.start("run", terminal.script("a.sh", "true")).communicate(timeout=30)

        lines = read_until(watching, b'"Succeeded"').splitlines()

        assert {"a"} == {json.loads(line)["metadata"]["name"] for line in lines[:-1]}

    def test_targets(self, command):
        assert ["local", "-", "local", "-"] == command("get", "targets").out.splitlines()[1].split()[:4]
        assert "BridgeTarget" == json.loads(command("get", "targets", "local", "-o", "json").out)["kind"]
        assert 64 == command("get", "targets", "other").code


class TestDescribe:
    def test_a_job_has_its_story(self, failed, command):
        text = command("describe", "job", failed).out

        assert "  state      Failed (ExitCode) after" in text
        assert "  walltime     1h\n" in text
        story = [line.split()[2] for line in text.partition("\nstory\n")[2].splitlines()]
        assert ["Accepted", "Submitting", "Submitted", "Failed"] == [word for word in story if word != "Running"]

    def test_values_of_the_environment_are_not_told(self, failed, command):
        text = command("describe", "job", failed).out

        assert "environment  TOKEN\n" in text
        assert "canary" not in text

    def test_a_target_says_how_it_is(self, failed, command):
        text = command("describe", "target", "local").out

        assert "  manager     local\n" in text
        assert "  jobs        1 Failed\n" in text

    def test_what_is_not_there(self, command):
        assert 64 == command("describe", "job", "a").code
        assert 64 == command("describe", "target", "a").code


class TestLogs:
    def test_the_streams_are_apart(self, failed, command):
        assert "".join(f"{n}\n" for n in range(1, 1001)) == command("logs", failed).out
        assert "no input\n" == command("logs", failed, "--error").out

    @pytest.mark.parametrize(("count", "first"), [("0", ""), ("1", "1000"), ("3", "998"), ("5000", "1")])
    def test_the_last_lines(self, failed, command, count, first):
        assert first == command("logs", failed, "--tail", count).out.partition("\n")[0]

    def test_the_last_line_counts_when_it_is_not_ended(self, terminal, command):
        command("run", terminal.script("a.sh", r"printf 'one\ntwo\nthree'"))

        assert "two\nthree" == command("logs", "a", "--tail", "2").out

    def test_they_are_followed_to_the_end(self, terminal, command):
        command("submit", terminal.script("a.sh", "echo one", "while test ! -e end; do sleep 0.05; done", "echo two"))
        following = terminal.start("logs", "-f", "a")
        read_until(following, b"one\n")

        (terminal.folder / "end").touch()
        out, _ = following.communicate(timeout=30)

        assert (0, b"two\n") == (following.returncode, out)

    def test_nothing_has_a_reason(self, terminal, command):
        terminal.yaml("job.yaml", "a: run: {command: ['true']}, suspend: true")
        command("submit", "job.yaml")

        done = command("logs", "a")

        assert (0, "") == (done.code, done.out)
        assert "job/a has not been submitted: suspended" in done.err

    def test_an_attempt_that_never_was(self, failed, command):
        done = command("logs", failed, "--attempt", "7")

        assert 64 == done.code
        assert "has no attempt 7 on record" in done.err


class TestFiles:
    def test_what_it_made_is_listed_and_fetched(self, failed, terminal, command, monkeypatch):
        listed = command("files", failed).out
        (terminal.folder / "elsewhere").mkdir()
        monkeypatch.chdir(terminal.folder / "elsewhere")

        fetched = command("fetch", failed, "made.txt")

        assert "made.txt   2" in listed
        assert (0, "made.txt\n") == (fetched.code, fetched.out)
        assert "x\n" == (terminal.folder / "elsewhere" / "made.txt").read_text()
        assert "x\n" == command("fetch", failed, "made.txt", "-o", "-").out

    def test_nothing_is_overwritten(self, failed, terminal, command):
        (terminal.folder / "mine.txt").write_text("mine")

        assert 64 == command("fetch", failed, "made.txt", "-o", "mine.txt").code
        assert 64 == command("fetch", failed, "made.txt").code
        assert "mine" == (terminal.folder / "mine.txt").read_text()

    @pytest.mark.parametrize("path", ["../home/bascule.db", "/etc/passwd", "link", "nothing", "."])
    def test_only_what_is_in_the_folder(self, failed, terminal, command, path):
        (terminal.folder / "link").symlink_to("/etc/passwd")

        done = command("fetch", failed, path, "-o", "-")

        assert (64, "") == (done.code, done.out)


class TestTargetCheck:
    def test_each_step_has_its_result(self, command):
        done = command("target", "check", "local")

        assert 0 == done.code
        assert all(line.startswith("ok ") for line in done.out.splitlines()[:-1])
        assert done.out.splitlines()[-1].startswith("target/local is ready: local")

    def test_what_is_not_there(self, command):
        assert 64 == command("target", "check", "locla").code
