"""What is checked between fields."""

from __future__ import annotations

import pytest

from tests.spec.written import SCRIPT, job, problems_of, target


class TestRun:
    @pytest.mark.parametrize(
        "run",
        [
            {"script": SCRIPT},
            {"scriptPath": "/home/alice/job.sh"},
            {"command": ["python", "train.py"]},
            {"program": {"id": "sampler", "params": {"shots": 100}}},
            {"payload": {"anything": None}},
        ],
    )
    def test_one_of_them(self, run):
        assert () == problems_of(job(run=run))

    def test_two_of_them_exclude_each_other(self):
        assert problems_of(job(run={"script": SCRIPT, "command": ["a"]})) == (
            "spec.run: `script`, `command` exclude each other; keep one of them",
        )

    def test_none_of_them_is_told(self):
        assert "spec.run: says not what runs" in problems_of(job(run={"arguments": ["a"]}))[0]

    def test_it_must_be_there(self):
        assert "spec.run: must be given" in problems_of(job(run=None))[0]

    def test_an_adopted_job_runs_already(self):
        assert () == problems_of(job(run=None, adopt={"id": "4711"}))
        assert "spec.adopt: watches a job that runs already" in problems_of(job(adopt={"id": "4711"}))[0]

    def test_a_payload_takes_no_arguments(self):
        assert "takes no arguments" in problems_of(job(run={"payload": {"a": 1}, "arguments": ["x"]}))[0]

    def test_arguments_stand_beside_what_they_are_for(self):
        assert problems_of(job(arguments=["x"])) == (
            "spec.arguments: unknown field; did you mean `spec.run.arguments`?",
        )


class TestAfter:
    def test_a_job_cannot_wait_for_itself(self):
        assert "spec.after[0].job: names the job itself" in problems_of(job(after=[{"job": "train"}]))[0]

    def test_a_predecessor_is_given_once(self):
        after = [{"job": "a"}, {"job": "b"}, {"job": "a", "when": "Failed"}]

        assert problems_of(job(after=after)) == ("spec.after[2].job: the job `a` is given twice; keep one of them",)


class TestTogether:
    def test_a_warning_comes_before_the_end(self):
        document = job(resources={"walltime": "5m"}, signal={"name": "USR1", "before": "5m"})

        assert "is not shorter than the walltime" in problems_of(document)[0]

    def test_a_variable_has_one_value(self):
        document = job(env={"A": "x"}, secretEnv={"A": {"name": "s", "key": "k"}})

        assert problems_of(document) == ("spec.secretEnv.A: is given in `env` too; keep one of them",)

    @pytest.mark.parametrize(
        ("entry", "words"),
        [
            ({}, "says not where the file comes from"),
            ({"content": "x", "url": "https://x.org/a"}, "exclude each other"),
            ({"store": "s"}, "`store` needs `key`"),
            ({"key": "k"}, "`key` needs `store`"),
        ],
    )
    def test_an_input_has_one_source(self, entry, words):
        [problem] = problems_of(job(files={"inputs": [{"path": "a", **entry}]}))

        assert words in problem

    def test_an_input_is_given_once(self):
        entry = {"path": "a", "content": "x"}

        assert "is given twice" in problems_of(job(files={"inputs": [entry, entry]}))[0]

    def test_faults_between_fields_are_told_with_those_of_fields(self):
        problems = problems_of(job(walltime="1h", after=[{"job": "train"}]))

        assert 2 == len(problems)


class TestTargets:
    def test_one_source_of_credentials(self):
        document = target(credentials={"file": "~/hpc.token", "env": "HPC_TOKEN"})

        assert problems_of(document) == ("spec.credentials: `file`, `env` exclude each other; keep one of them",)

    def test_plain_http_goes_no_further_than_this_machine(self):
        assert () == problems_of(target(url="http://localhost:6820"))
        assert () == problems_of(target(url="http://[::1]:6820"))
        assert "unencrypted" in problems_of(target(url="http://slurm.example.org"))[0]
        assert () == problems_of(target(url="http://slurm.example.org", network={"plaintext": True}))

    def test_stores_have_names_of_their_own(self):
        store = {"name": "results", "url": "s3://bucket/prefix"}

        assert "is given twice" in problems_of(target(files={"stores": [store, store]}))[0]

    def test_a_claim_is_mounted_somewhere(self):
        assert () == problems_of(target(files={"root": "/scratch", "claim": "scratch"}))
        assert "has no effect without `root`" in problems_of(target(files={"claim": "scratch"}))[0]

    def test_who_may_use_it_is_said_in_one_way(self):
        assert () == problems_of(target(allowedNamespaces={"from": "Names", "names": ["a"]}))
        assert "needs `names`" in problems_of(target(allowedNamespaces={"from": "Names"}))[0]
        assert "has no effect" in problems_of(target(allowedNamespaces={"from": "All", "names": ["a"]}))[0]
