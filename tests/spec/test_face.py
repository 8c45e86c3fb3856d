from __future__ import annotations

from datetime import timedelta

import pytest

import bascule
from bascule.errors import Mistake
from bascule.model import After, Quantity, Resources
from bascule.spec import Job, job_from_document
from tests.spec.written import SCRIPT, job


class TestJob:
    def test_it_is_what_a_file_would_say(self):
        document = job(
            run={"script": SCRIPT, "arguments": ["a"]},
            resources={"cpusPerTask": 4, "memoryPerNode": "8Gi", "gpusPerNode": {"count": 1}, "walltime": "1h"},
            secretEnv={"api_key": {"name": "keys", "key": "api"}},
            files={"inputs": [{"path": "a", "configMap": {"name": "c", "key": "k"}}]},
            env={"my_variable": "x"},
            options={"begin_time": {"some_key": 1}},
            onDelete="Detach",
        )

        found = Job(
            name="train",
            target="hpc",
            script=SCRIPT,
            arguments=["a"],
            resources={
                "cpus_per_task": 4,
                "memory_per_node": Quantity("8Gi"),
                "gpus_per_node": {"count": 1},
                "walltime": timedelta(hours=1),
            },
            secret_env={"api_key": {"name": "keys", "key": "api"}},
            files={"inputs": [{"path": "a", "config_map": {"name": "c", "key": "k"}}]},
            env={"my_variable": "x"},
            options={"begin_time": {"some_key": 1}},
            on_delete="Detach",
        )

        assert job_from_document(document) == found

    def test_nouns_are_taken(self):
        found = Job("train", command=("a", "b"), resources=Resources(nodes=2), after=[After(job="x")])

        assert 2 == found.spec.resources.nodes
        assert (After(job="x"),) == found.spec.after

    def test_labels_and_namespace_are_metadata(self):
        found = Job("train", command=["a"], labels={"project": "x"}, namespace="lab")

        assert {"project": "x"} == found.labels
        assert "lab" == found.namespace

    def test_all_that_is_wrong_is_told_at_once(self):
        with pytest.raises(Mistake) as caught:
            Job("No Name", command=["a"], resources={"wall_time": "1h"}, retyr={})

        assert [
            "Job: metadata.name",
            "Job: spec.resources.wall_time",
            "Job: spec.retyr",
        ] == [": ".join(line.split(": ")[:2]) for line in caught.value.problems]

    def test_bytes_are_no_text(self):
        with pytest.raises(Mistake):
            Job("a", script=b"#!/bin/sh\n")

    def test_it_is_the_librarys_face(self):
        assert bascule.Job is Job
