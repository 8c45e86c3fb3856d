from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec
import yaml

from bascule.model import (
    Attempt,
    Condition,
    Handle,
    Intent,
    JobStatus,
    ManagerView,
    Phase,
    Reason,
    Source,
    TargetStatus,
)
from bascule.spec import job_from_document, load_text, target_from_document, to_document, to_yaml
from tests.spec.written import job, target

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def stored(status, **spec):
    """Return a job as a store has it."""
    return msgspec.structs.replace(
        job_from_document(job(**spec)), uid="u-1", version="7", generation=2, created_at=NOON, status=status
    )


class TestJobs:
    def test_a_job_is_shown_as_its_file_would_say_it(self):
        document = to_document(job_from_document(job(resources={"walltime": "1h"}, env={"B": "1", "A": "2"})))

        assert document == {
            "apiVersion": "bascule.dev/v1alpha1",
            "kind": "BridgeJob",
            "metadata": {"name": "train", "namespace": "default"},
            "spec": {
                "target": {"name": "hpc"},
                "run": {"script": "#!/bin/sh\necho hello\n"},
                "env": {"B": "1", "A": "2"},
                "resources": {"walltime": "1h"},
            },
            "status": {"phase": "Pending"},
        }

    def test_arguments_stand_where_people_write_them(self):
        run = {"command": ["a"], "arguments": ["b"]}

        document = to_document(job_from_document(job(run=run)))

        assert run == document["spec"]["run"]
        assert "arguments" not in document["spec"]

    def test_the_status_is_shown_without_what_only_the_next_pass_needs(self):
        status = JobStatus(
            phase=Phase.RUNNING,
            id="4711",
            attempt=2,
            exit_code=0,
            manager=ManagerView(state="RUNNING", nodes=("n1",)),
            observed_at=NOON,
            observed_by=Source.LIVE,
            attempts=(Attempt(attempt=1, key="k", reason=Reason.NODE_FAILED, place="/secret/place"),),
            conditions=(Condition(type="Submitted", status="True", last_transition_time=NOON),),
            intent=Intent(at=NOON, asked_at=NOON),
            handle=Handle(id="4711", place="/secret/place"),
            retries=1,
        )

        shown = to_document(stored(status))["status"]

        assert shown == {
            "phase": "Running",
            "id": "4711",
            "attempt": 2,
            "exitCode": 0,
            "manager": {"state": "RUNNING", "nodes": ["n1"]},
            "observedAt": "2026-03-01T12:00:00Z",
            "observedBy": "live",
            "attempts": [{"attempt": 1, "phase": "Failed", "key": "k", "reason": "NodeFailed"}],
            "conditions": [{"type": "Submitted", "status": "True", "lastTransitionTime": "2026-03-01T12:00:00Z"}],
        }

    def test_what_the_store_knows_is_in_the_metadata(self):
        assert to_document(stored(JobStatus()))["metadata"] == {
            "name": "train",
            "namespace": "default",
            "uid": "u-1",
            "generation": 2,
            "creationTimestamp": "2026-03-01T12:00:00Z",
        }

    def test_what_is_shown_can_be_applied_again(self):
        thing = stored(JobStatus(phase=Phase.RUNNING, id="4711"), after=[{"job": "prepare"}], retry={"limit": 1})

        [again] = load_text(to_yaml(to_document(thing)))

        assert thing.spec == again.spec

    def test_it_is_json(self):
        assert json.dumps(to_document(stored(JobStatus(observed_at=NOON))))


class TestTargets:
    def test_a_target_is_shown_as_its_file_would_say_it(self):
        spec = {
            "credentials": {"user": "alice", "secret": {"name": "t", "from": "JobNamespace"}},
            "limits": {"activeJobs": 500, "requestsPerSecond": 5, "pollInterval": "10s"},
            "allowedNamespaces": {"from": "Names", "names": ["a"]},
        }
        thing = msgspec.structs.replace(target_from_document(target(**spec)), status=TargetStatus(version="26.05"))

        document = to_document(thing)

        assert target(**spec)["spec"] == document["spec"]
        assert {"version": "26.05"} == document["status"]
        assert thing.spec == target_from_document(document).spec


class TestYaml:
    def test_a_script_is_shown_as_a_block(self):
        assert "script: |\n" in to_yaml(to_document(job_from_document(job())))

    def test_a_script_that_a_block_would_change_is_quoted(self):
        script = "#!/bin/sh\n  x \r\n\x1b\x85\n"

        text = to_yaml({"script": script})

        assert {"script": script} == yaml.safe_load(text)

    def test_words_that_yaml_would_misread_are_quoted(self):
        words = ["yes", "y", "on", "1e5", "0x1", "1:30", "null", "~", "", "2024-01-01", "09", "1_0"]

        [shown] = load_text(to_yaml(to_document(job_from_document(job(run={"command": words})))))

        assert tuple(words) == shown.spec.run.command
