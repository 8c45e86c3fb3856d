from __future__ import annotations

import io
import os
import sys
import textwrap

import pytest
import yaml

from bascule.errors import Mistake
from bascule.model import Duration, Job, Quantity, Target
from bascule.spec import job_from_document, load, load_any, load_file, load_text, target_from_document
from tests.spec.written import SCRIPT, job, problems_in, problems_of, target


def dedented(text):
    return textwrap.dedent(text).lstrip("\n")


class TestGoodFiles:
    def test_all_that_the_form_has_is_read(self):
        document = job(
            run={"script": SCRIPT, "arguments": ["--epochs", "3"]},
            env={"OMP_NUM_THREADS": "4"},
            resources={
                "nodes": 2,
                "memoryPerNode": "16Gi",
                "gpusPerNode": {"count": 1, "type": "a100"},
                "walltime": "1h",
            },
            array={"indices": "0-99", "parallelism": 10},
            files={
                "inputs": [
                    {"path": "config.json", "content": "{}"},
                    {"path": "data.csv", "store": "results", "key": "in/data.csv"},
                    {"path": "mesh.h5", "url": "https://data.example.org/mesh.h5", "sha256": "a" * 64},
                    {"path": "extra.txt", "configMap": {"name": "cm", "key": "extra"}},
                ],
                "outputs": [{"path": "*.npz", "store": "results", "prefix": "run-7/"}],
            },
            secretEnv={"API_KEY": {"name": "keys", "key": "api"}},
            after=[{"job": "prepare", "when": "Finished"}],
            retry={"limit": 2, "reasons": ["NodeFailed"]},
            deadlines={"queued": "6h", "running": "2h", "unknown": "7d"},
            signal={"name": "SIGUSR1", "before": "5m"},
            options={"account": "proj1", "deep": {"list": [1, None, 2.5]}},
            onDelete="Detach",
            ttlAfterFinished="1d",
        )

        spec = job_from_document(document).spec

        assert SCRIPT == spec.run.script
        assert ("--epochs", "3") == spec.arguments
        assert Quantity("16Gi") == spec.resources.memory_per_node
        assert Duration(hours=1) == spec.resources.walltime
        assert "USR1" == spec.signal.name
        assert ["config.json", "data.csv", "mesh.h5", "extra.txt"] == [file.path for file in spec.files.inputs]
        assert {"account": "proj1", "deep": {"list": [1, None, 2.5]}} == spec.options

    def test_several_documents_are_read_in_their_order(self):
        text = f"{yaml.dump(target(manager='local', url=None))}---\n{yaml.dump(job())}---\n"

        first, second = load_text(text)

        assert isinstance(first, Target)
        assert isinstance(second, Job)

    def test_a_list_as_kubectl_prints_it_is_read(self):
        text = yaml.dump({"apiVersion": "v1", "kind": "List", "items": [job(), target()]})

        assert ["train", "hpc"] == [thing.name for thing in load_text(text)]

    def test_what_the_store_adds_is_ignored(self):
        document = job()
        document["status"] = {"phase": "Running", "anything": [1]}
        document["metadata"] |= {"uid": "u", "generation": 3, "creationTimestamp": "x", "managedFields": [{}]}

        assert job_from_document(document) == job_from_document(job())

    def test_nothing_is_the_same_as_not_there(self):
        assert job_from_document(job(env=None, resources={"nodes": None})) == job_from_document(job())

    def test_a_namespace_is_what_the_file_or_the_caller_says(self):
        document = job()

        assert "default" == job_from_document(document).namespace
        assert "lab" == job_from_document(document, namespace="lab").namespace
        document["metadata"]["namespace"] = "own"
        assert "own" == job_from_document(document, namespace="lab").namespace


class TestBadFiles:
    def test_every_fault_of_a_file_is_told_at_once_with_its_line(self):
        text = dedented("""
            apiVersion: bascule.dev/v1alpha1
            kind: BridgeJob
            metadata:
              name: Train 1
            spec:
              target: {nam: hpc}
              run:
                script: |
                  echo hello
              walltime: 1h
              image: python
              resources:
                walltme: 1h
                nodes: "2"
              env: {DEBUG: yes, LEVEL: 3}
            ---
            apiVersion: bascule.dev/v1
            kind: BridgeJbo
        """)

        assert problems_in(text) == (
            "job.yaml:4: metadata.name: `Train 1` is no name; names are of a-z, 0-9, `-` and `.` and at most 253 long, for instance `train-1`",
            "job.yaml:6: spec.target.name: must be given",
            "job.yaml:6: spec.target.nam: unknown field; did you mean `name`?",
            "job.yaml:8: spec.run.script: the script does not begin with `#!`, so nobody knows what runs it; begin it with `#!/bin/bash`",
            "job.yaml:10: spec.walltime: unknown field; did you mean `spec.resources.walltime`?",
            "job.yaml:11: spec.image: is reserved for the container to run in, and not there yet; leave it out",
            "job.yaml:13: spec.resources.walltme: unknown field; did you mean `walltime`?",
            "job.yaml:14: spec.resources.nodes: must be a whole number, is a text; take the quotes away",
            'job.yaml:15: spec.env.DEBUG: must be a text, and YAML reads `yes` as true; quote it: "yes"',
            "job.yaml:15: spec.env.LEVEL: must be a text, and YAML reads a number; quote it",
            "job.yaml:17: apiVersion: `bascule.dev/v1` is not known here; write `bascule.dev/v1alpha1`",
            "job.yaml:18: kind: `BridgeJbo` is not known here; did you mean `BridgeJob`?",
        )

    def test_the_message_says_how_many(self):
        with pytest.raises(Mistake, match=r"^`x\.yaml` has 2 problems$"):
            load_text("a: 1", source="x.yaml")

    def test_no_more_than_a_hundred_are_shown(self):
        text = yaml.dump(job(env={f"A-{n}": "x" for n in range(150)}))

        problems = problems_in(text)

        assert 101 == len(problems)
        assert "job.yaml: 50 more problems are not shown" == problems[-1]

    def test_the_same_name_twice_is_told(self):
        text = f"{yaml.dump(job())}---\n{yaml.dump(job())}"

        assert "metadata.name: `train` is given twice, first in line 1" in problems_in(text)[0]

    def test_a_file_without_an_object_is_told(self):
        with pytest.raises(Mistake, match=r"`job\.yaml` holds no object"):
            load_text("# nothing\n", source="job.yaml")

    def test_something_else_than_an_object_is_told(self):
        assert "an object must be a mapping" in problems_in("just words")[0]

    @pytest.mark.parametrize("kind", ["BridgeQueue", "BridgeCluster"])
    def test_kinds_of_later_are_reserved(self, kind):
        assert "is reserved" in problems_in(f"apiVersion: bascule.dev/v1alpha1\nkind: {kind}\n")[0]

    def test_what_a_number_is_measured_in_is_asked(self):
        document = job(deadlines={"queued": 90})

        assert problems_of(document) == (
            "spec.deadlines.queued: must be a duration, and a number says no unit; write it as `90s`, `15m` or `1h30m`",
        )

    def test_secrets_in_env_are_not_repeated(self):
        assert "31337" not in str(problems_of(job(env={"TOKEN": 31337})))


class TestFiles:
    def test_a_file_is_read(self, tmp_path):
        path = tmp_path / "job.yaml"
        path.write_text(yaml.dump(job()))

        assert "train" == load_file(path)[0].name

    def test_a_dash_reads_stdin(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(yaml.dump(job()).encode())))

        assert "train" == load_file("-")[0].name

    def test_a_missing_file_names_the_nearest(self, tmp_path):
        (tmp_path / "job.yaml").touch()

        with pytest.raises(Mistake) as caught:
            load_file(tmp_path / "jbo.yaml")

        assert "there is no file" in caught.value.message
        assert f"did you mean `{tmp_path / 'job.yaml'}`?" == caught.value.hint

    def test_a_folder_is_told(self, tmp_path):
        with pytest.raises(Mistake, match="is a folder"):
            load_file(tmp_path)

    def test_a_name_that_no_file_can_have_is_told(self):
        with pytest.raises(Mistake, match="cannot be read"):
            load_file("a\0b")

    def test_a_file_of_4_mib_is_the_largest(self, tmp_path):
        path = tmp_path / "job.yaml"
        path.touch()
        os.truncate(path, 4 * 1024 * 1024 + 1)

        with pytest.raises(Mistake, match="is larger than 4 MiB"):
            load_file(path)

    def test_an_endless_file_is_refused(self):
        with pytest.raises(Mistake, match="is larger than 4 MiB"):
            load_file("/dev/zero")

    def test_other_bytes_than_utf8_are_told_with_their_place(self, tmp_path):
        path = tmp_path / "job.yaml"
        path.write_bytes(b"a: 1\nb: \xff\n")

        with pytest.raises(Mistake) as caught:
            load_file(path)

        assert (f"{path}:2: not UTF-8: the byte 0xff at offset 8; save it as UTF-8",) == caught.value.problems

    def test_a_script_and_a_file_of_objects_are_told_apart(self, tmp_path):
        (tmp_path / "job.yaml").write_text(yaml.dump(job()))
        (tmp_path / "hello.sh").write_text(SCRIPT)
        (tmp_path / "objects").write_text("# a comment\n" + yaml.dump(job()))

        assert ["train"] == [thing.name for thing in load_any(tmp_path / "job.yaml")]
        assert ["hello"] == [thing.name for thing in load_any(tmp_path / "hello.sh")]
        assert ["train"] == [thing.name for thing in load_any(tmp_path / "objects")]

    def test_a_file_without_a_shebang_is_a_script_that_is_refused(self, tmp_path):
        (tmp_path / "hello").write_text("echo hello\n")

        with pytest.raises(Mistake) as caught:
            load_any(tmp_path / "hello")

        assert "does not begin with `#!`" in caught.value.problems[0]

    def test_one_job_is_one_job(self, tmp_path):
        (tmp_path / "one.yaml").write_text(yaml.dump(job()))
        (tmp_path / "two.yaml").write_text(f"{yaml.dump(job())}---\n{yaml.dump(target())}")

        assert "train" == load(tmp_path / "one.yaml").name
        with pytest.raises(Mistake, match="holds 2 objects"):
            load(tmp_path / "two.yaml")


def test_a_document_of_the_other_kind_is_refused():
    with pytest.raises(Mistake) as caught:
        target_from_document(job())

    assert "kind: `BridgeJob` is not known here; write `BridgeTarget`" in caught.value.problems[0]
