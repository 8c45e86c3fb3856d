"""What the API server itself refuses, and what it takes: good and bad objects, applied to a real one."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bascule.clients.kube import KubeClient, Rejected, access_from_environment
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.crds import crds
from bascule.spec import load_text
from tests.platforms.kubernetes_world import prepare

pytestmark = [
    pytest.mark.real,
    pytest.mark.root,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RUN = {"script": "#!/bin/sh\ntrue\n"}
TARGET = {"manager": "slurm", "url": "https://slurm.example.org:6820", "mirror": "None"}

GOOD_JOBS: dict[str, dict[str, Any]] = {
    "script": {"run": RUN},
    "script of 128 KiB": {"run": {"script": "#!/bin/sh\n" + "x" * (128 * 1024 - 10)}},
    "command": {"run": {"command": ["python", "-c", "print('é')"], "arguments": ["--epochs", "3"]}},
    "path": {"run": {"scriptPath": "/home/alice/job.sh"}},
    "program": {"run": {"program": {"id": "sampler", "params": {"deep": {"er": [1, 2.5, None, True]}}}}},
    "payload": {"run": {"payload": {"any": ["json"]}}},
    "adopted": {"adopt": {"id": "4711"}},
    "everything": {
        "run": RUN,
        "env": {"A": "1", "B": ""},
        "secretEnv": {"KEY": {"name": "keys", "key": "api"}},
        "workingDirectory": "/scratch/alice",
        "output": "o.txt",
        "error": "e.txt",
        "resources": {
            "nodes": 2,
            "tasks": 8,
            "cpusPerTask": 4,
            "memoryPerNode": "16Gi",
            "gpusPerNode": {"count": 1, "type": "a100"},
            "walltime": "1h30m",
        },
        "array": {"indices": "0-99:2,7", "parallelism": 10},
        "files": {
            "inputs": [
                {"path": "a", "content": "x"},
                {"path": "b", "store": "s", "key": "k"},
                {"path": "c", "url": "https://data.example.org/c", "sha256": "0" * 64},
                {"path": "d", "configMap": {"name": "cm", "key": "d"}},
            ],
            "outputs": [{"path": "*.npz", "store": "s", "prefix": "run-7/"}],
        },
        "after": [{"job": "prepare", "when": "Finished"}, {"job": "other"}],
        "retry": {"limit": 2, "reasons": ["NodeFailed"]},
        "deadlines": {"queued": "6h", "running": "2h", "unknown": "7d"},
        "signal": {"name": "SIGUSR1", "before": "5m"},
        "options": {"account": "proj1", "nested": {"list": [1]}},
        "cancel": False,
        "hold": True,
        "suspend": True,
        "onDelete": "Detach",
        "ttlAfterFinished": "0s",
    },
}

BAD_JOBS: dict[str, tuple[dict[str, Any], str]] = {
    "no target": ({"target": None, "run": RUN}, "target"),
    "nothing to run": ({}, "give `run`"),
    "two things to run": ({"run": {**RUN, "command": ["x"]}}, "exactly one"),
    "an empty run": ({"run": {}}, "exactly one"),
    "run and adopt": ({"run": RUN, "adopt": {"id": "1"}}, "not both"),
    "arguments of a payload": ({"run": {"payload": {}, "arguments": ["x"]}}, "no arguments"),
    "a script without #!": ({"run": {"script": "echo"}}, "should match '^#!'"),
    "a script of more than 128 KiB": ({"run": {"script": "#!" + "x" * (128 * 1024)}}, "Too long"),
    "an empty command": ({"run": {"command": []}}, "at least 1"),
    "a relative path": ({"run": {"scriptPath": "job.sh"}}, "scriptPath"),
    "an env value that is a number": ({"run": RUN, "env": {"A": 1}}, "env"),
    "no such duration": ({"run": RUN, "resources": {"walltime": "an hour"}}, "walltime"),
    "a duration without a unit": ({"run": RUN, "deadlines": {"queued": "90"}}, "queued"),
    "no such quantity": ({"run": RUN, "resources": {"memoryPerNode": "lots"}}, "memoryPerNode"),
    "no nodes": ({"run": RUN, "resources": {"nodes": 0}}, "nodes"),
    "half a node": ({"run": RUN, "resources": {"nodes": 1.5}}, "nodes"),
    "no such indices": ({"run": RUN, "array": {"indices": "a-b"}}, "indices"),
    "an input without a source": ({"run": RUN, "files": {"inputs": [{"path": "a"}]}}, "exactly one"),
    "an input with two": (
        {"run": RUN, "files": {"inputs": [{"path": "a", "content": "x", "url": "https://x/y"}]}},
        "exactly one",
    ),
    "a store without a key": ({"run": RUN, "files": {"inputs": [{"path": "a", "store": "s"}]}}, "need each other"),
    "an input over http": ({"run": RUN, "files": {"inputs": [{"path": "a", "url": "http://x/y"}]}}, "url"),
    "a prefix without a store": ({"run": RUN, "files": {"outputs": [{"path": "a", "prefix": "p"}]}}, "no effect"),
    "after itself": ({"run": RUN, "after": [{"job": "it"}]}, "wait for ever"),
    "after one job twice": ({"run": RUN, "after": [{"job": "a"}, {"job": "a"}]}, "Duplicate"),
    "after in no known way": ({"run": RUN, "after": [{"job": "a", "when": "Maybe"}]}, "when"),
    "a retry for a mistake": ({"run": RUN, "retry": {"limit": 1, "reasons": ["Refused"]}}, "reasons"),
    "too many retries": ({"run": RUN, "retry": {"limit": 101}}, "limit"),
    "no such end": ({"run": RUN, "onDelete": "Forget"}, "onDelete"),
    "a target that is no name": ({"target": {"name": "../x"}, "run": RUN}, "target.name"),
}

GOOD_TARGETS: dict[str, dict[str, Any]] = {
    "least": {},
    "isolated": {"mirror": "Isolated", "credentials": {"user": "a", "secret": {"name": "s", "from": "JobNamespace"}}},
    "plain http said so": {"url": "http://10.1.2.3:6820", "network": {"allow": ["10.0.0.0/8"], "plaintext": True}},
    "for all": {"allowedNamespaces": {"from": "All"}},
    "for some": {"allowedNamespaces": {"from": "Names", "names": ["a", "b"]}},
    "by labels": {"allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "x"}}}},
    "limits": {"limits": {"activeJobs": 500, "requestsPerSecond": 0.5, "pollInterval": "10s"}},
    "a claim": {"mirror": "Isolated", "files": {"root": "/scratch", "claim": "scratch"}},
    "stores": {"files": {"root": "/scratch", "stores": [{"name": "r", "url": "s3://b/p", "secret": {"name": "k"}}]}},
}

BAD_TARGETS: dict[str, tuple[dict[str, Any], str]] = {
    "the manager local": ({"manager": "local"}, "does not exist on Kubernetes"),
    "a token's file": ({"credentials": {"file": "/etc/shadow"}}, "does not exist on Kubernetes"),
    "a token's variable": ({"credentials": {"env": "TOKEN"}}, "does not exist on Kubernetes"),
    "a token's command": ({"credentials": {"command": ["cat", "/etc/shadow"]}}, "does not exist on Kubernetes"),
    "a claim without a folder": ({"files": {"claim": "scratch"}}, "no effect without `root`"),
    "a claim of no name": ({"files": {"root": "/x", "claim": "A/B"}}, "claim"),
    "no mirror": ({"mirror": None}, "mirror"),
    "a mirror that is not there yet": ({"mirror": "Shared"}, "mirror"),
    "plain http": ({"url": "http://slurm.example.org"}, "not encrypted"),
    "no url": ({"url": "ftp://x"}, "url"),
    "names without from": ({"allowedNamespaces": {"names": ["a"]}}, "goes with"),
    "from without names": ({"allowedNamespaces": {"from": "Names"}}, "goes with"),
    "a selector without from": ({"allowedNamespaces": {"selector": {"matchLabels": {}}}}, "goes with"),
    "no requests at all": ({"limits": {"requestsPerSecond": 0}}, "requestsPerSecond"),
    "a store twice": (
        {"files": {"stores": [{"name": "r", "url": "s3://b"}, {"name": "r", "url": "s3://c"}]}},
        "Duplicate",
    ),
}


@pytest.fixture
async def client(control_plane):
    async with KubeClient(access_from_environment(str(Path(control_plane.kubeconfig)))) as client:
        await prepare(client)
        yield client
    gc.collect()


def document(kind: str, spec: dict[str, Any], name: str = "it") -> dict[str, Any]:
    given = {key: value for key, value in spec.items() if value is not None}
    return {
        "apiVersion": names.API_VERSION,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": given,
    }


def job(spec: dict[str, Any]) -> dict[str, Any]:
    return document("BridgeJob", {"target": {"name": "hpc"}, **spec})


def target(spec: dict[str, Any]) -> dict[str, Any]:
    return document("BridgeTarget", {**TARGET, **spec})


async def try_out(client: KubeClient, made: dict[str, Any]) -> dict[str, Any]:
    """Create it without keeping it; unknown fields are refused as kubectl asks for it."""
    kind: names.Kind = "bridgejobs" if made["kind"] == "BridgeJob" else "bridgetargets"
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    path = names.collection(kind, "default")
    return msgspec.json.decode(await client.send("POST", path, made, query=query))


@pytest.mark.parametrize("what", GOOD_JOBS)
async def test_a_good_job_is_taken_as_it_is(client, what):
    """
    And by the models too: what both take must be the same.
    """
    stored = await try_out(client, job(GOOD_JOBS[what]))

    assert job(GOOD_JOBS[what])["spec"] == stored["spec"]
    assert load_text(msgspec.json.encode(job(GOOD_JOBS[what])).decode())


@pytest.mark.parametrize("what", BAD_JOBS)
async def test_a_bad_job_is_refused_in_words(client, what):
    spec, words = BAD_JOBS[what]

    with pytest.raises(Rejected) as refusal:
        await try_out(client, job(spec))

    assert words in refusal.value.message


@pytest.mark.parametrize("what", GOOD_TARGETS)
async def test_a_good_target_is_taken_as_it_is(client, what):
    stored = await try_out(client, target(GOOD_TARGETS[what]))

    assert target(GOOD_TARGETS[what])["spec"] == stored["spec"]
    assert load_text(msgspec.json.encode(target(GOOD_TARGETS[what])).decode())


@pytest.mark.parametrize("what", BAD_TARGETS)
async def test_a_bad_target_is_refused_in_words(client, what):
    spec, words = BAD_TARGETS[what]

    with pytest.raises(Rejected) as refusal:
        await try_out(client, target(spec))

    assert words in refusal.value.message


@pytest.mark.parametrize("path", ["spec.runs", "spec.run.scripts", "spec.resources.gpus", "metadata.lables"])
async def test_an_unknown_field_is_refused_by_its_name(client, path):
    made = job({"run": dict(RUN), "resources": {}})
    *way, last = path.split(".")
    inner: Any = made
    for step in way:
        inner = inner[step]
    inner[last] = {}

    with pytest.raises(Rejected, match=last):
        await try_out(client, made)


class TestFrozen:
    """From the first intent on the work does not change; what steers it does."""

    FROZEN: tuple[dict[str, Any], ...] = (
        {"target": {"name": "other"}},
        {"run": {"script": "#!/bin/sh\nfalse\n"}},
        {"run": {"arguments": ["x"]}},
        {"env": {"A": "2"}},
        {"env": None},
        {"resources": {"nodes": 2}},
        {"resources": None},
        {"array": {"indices": "0-3"}},
        {"options": {"qos": "high"}},
        {"workingDirectory": "/elsewhere"},
        {"after": [{"job": "x"}]},
        {"signal": {"name": "USR1", "before": "1m"}},
    )
    CHANGEABLE: tuple[dict[str, Any], ...] = (
        {"cancel": True},
        {"hold": True},
        {"suspend": True},
        {"retry": {"limit": 3}},
        {"deadlines": {"running": "1h"}},
        {"onDelete": "Detach"},
        {"ttlAfterFinished": "1d"},
        {"resources": {"walltime": "2h"}},
    )
    SPEC: dict[str, Any] = {"run": RUN, "env": {"A": "1"}, "resources": {"nodes": 1, "walltime": "1h"}}

    async def stored(self, client: KubeClient, attempt: int) -> str:
        path = names.collection("bridgejobs", "default")
        await client.post(path, job(self.SPEC))
        if attempt:
            await client.patch(f"{path}/it/status", {"status": {"phase": "Submitting", "attempt": attempt}})
        return f"{path}/it"

    async def test_work_is_frozen_once_it_was_submitted(self, client):
        path = await self.stored(client, 1)

        for change in self.FROZEN:
            with pytest.raises(Rejected, match="cannot change once"):
                await client.patch(path, {"spec": change})

    async def test_work_may_change_before(self, client):
        path = await self.stored(client, 0)

        for change in self.FROZEN:
            await client.patch(path, {"spec": change})

    async def test_what_steers_may_change_at_any_time(self, client):
        path = await self.stored(client, 1)

        for change in self.CHANGEABLE:
            await client.patch(path, {"spec": change})

    async def test_what_was_submitted_stays_submitted(self, client):
        """
        A status that is wiped out would let the job be submitted once more.
        """
        path = await self.stored(client, 2)

        for wiped in ({"attempt": 1}, {"attempt": None}, None):
            with pytest.raises(Rejected, match="never goes back"):
                await client.patch(f"{path}/status", {"status": wiped})


async def test_explain_tells_what_each_field_is(client):
    """
    kubectl reads the words from what the API server publishes.
    """
    async with asyncio.timeout(30):
        while True:
            published = msgspec.json.decode(await client.get("/openapi/v3/apis/bascule.dev/v1alpha1"))
            if "dev.bascule.v1alpha1.BridgeJob" in published["components"]["schemas"]:
                break
            await asyncio.sleep(0.2)
    spec = published["components"]["schemas"]["dev.bascule.v1alpha1.BridgeJob"]["properties"]["spec"]

    assert "byte for byte" in spec["properties"]["run"]["properties"]["script"]["description"]
    assert not list(
        _silent(crds()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"], "spec")
    )


def _silent(schema: dict[str, Any], path: str) -> Any:
    """Find fields that say nothing of themselves."""
    for name, field in schema.get("properties", {}).items():
        if not field.get("description"):
            yield f"{path}.{name}"
        yield from _silent(field.get("items", field), f"{path}.{name}")
