"""What a command line may say, and what is said of one that says something else."""

from __future__ import annotations

import pytest

from bascule.cli.arguments import labels_from, merged
from bascule.cli.main import parser
from bascule.errors import Mistake


class TestUsage:
    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("gett jobs", "bascule: there is no command `gett`\nhint: did you mean `get`?"),
            ("get jbos", "bascule: there is no KIND `jbos`\nhint: did you mean `jobs`?"),
            ("get jobs --cachd", "does not take `--cachd`"),
            ("get jobs --phase Runing", "bascule: there is no phase `Runing`"),
            ("get jobs -l project", "bascule: `project` selects no labels"),
            ("get jobs --cached --watch", "leave one of them out"),
            ("logs", "the following arguments are required: NAME"),
            ("logs x --tail some", "bascule: `some` is no number"),
            ("wait x --timeout soon", "bascule: `soon` is no duration"),
            ("run", "bascule: no file is named"),
            ("run x.sh --wrap date", "bascule: `--wrap` takes the place of the file `x.sh`"),
            ("cancel", "bascule: no jobs are named"),
            ("cancel x -l a=b", "not by both"),
            ("target", "the following arguments are required: COMMAND"),
            ("ps", "`bascule get jobs` does that here"),
            ("scancel 7", "`bascule cancel NAME` does that here"),
            ("sbatch x.sh", "`bascule submit FILE` does that here"),
            (
                "run echo hi",
                "`bascule run` does not take `hi`\nhint: `--wrap 'echo hi'` runs a command; `-- hi` hands it",
            ),
            ("run x.sh --tim 5m", "`bascule run` does not take `--tim 5m`\nhint: did you mean `--time`?"),
            ("logs job train", "the name alone is enough: `bascule logs train`"),
            ("get train", "for jobs of that name: `bascule get job train`"),
            ("delete job", "names none"),
            ("describe job/a target/b", "`target/b` is not the name of a job"),
            ("help nix", "there is no command `nix`"),
            ("--platform kubernetes serve", "a cluster's are its operator's\nhint: `bascule operator`"),
            ("get jobs --platform windows", "bascule: there is no platform `windows`"),
        ],
    )
    def test_a_wrong_line_is_the_users_mistake(self, command, line, words):
        done = command(*line.split())

        assert 64 == done.code
        assert words in done.err
        assert "hint: " in done.err
        assert "" == done.out

    def test_nothing_at_all_shows_the_help(self, command):
        done = command()

        assert (64, "") == (done.code, done.out)
        assert "run long jobs wherever" in done.err.lower()

    def test_what_a_script_is_to_be_given_is_said(self, terminal, command):
        path = terminal.script("x.sh", "true")

        assert "stands after `--`: `-- --epochs 3`" in command("run", path, "--epochs", "3").err

    def test_the_platform_may_come_from_the_environment(self, command, monkeypatch):
        monkeypatch.setenv("BASCULE_PLATFORM", "kubernetes")
        monkeypatch.setenv("KUBECONFIG", "/nowhere")

        assert 64 == command("get", "jobs").code


class TestEverywhere:
    @pytest.mark.parametrize("line", ["--home /a get jobs", "get jobs --home /a", "get --home=/a jobs"])
    def test_the_home_is_named_before_the_command_or_after_it(self, line):
        assert "/a" == parser().parse_args(line.split()).home

    def test_the_later_home_wins(self):
        assert "/b" == parser().parse_args(["--home", "/a", "get", "jobs", "--home", "/b"]).home


class TestRest:
    def test_what_follows_two_dashes_is_the_jobs(self):
        args = parser().parse_args(["run", "x.sh", "-t", "hpc", "--", "--home", "-x", "--"])

        assert ("x.sh", "hpc", None) == (args.file, args.target, args.home)
        assert ("--home", "-x", "--") == args.rest

    def test_nothing_may_follow(self):
        assert () == parser().parse_args(["run", "x.sh"]).rest


class TestLabels:
    def test_they_are_given_at_once_or_one_by_one(self):
        assert {"a": "1", "b": "2", "c": ""} == merged([labels_from("a=1,b==2"), labels_from("c=")])

    @pytest.mark.parametrize("text", ["", "a", "=x", "a=1,"])
    def test_half_of_one_is_refused(self, text):
        with pytest.raises(Mistake):
            labels_from(text)
