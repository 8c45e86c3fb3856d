"""
A plain client of slurmrestd, deliberately not the program's own.

Enough to put jobs on a cluster from outside of the program under test, and to see the raw
answers that each version gives.
"""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from tests.testbed.slurm import SlurmCluster


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def call(cluster: SlurmCluster, method: str, path: str, body: object = None, *, user: str | None = None) -> Answer:
    """Send one request with a fresh token of *user*, the cluster's own if none is named."""
    user = user or cluster.user
    headers = {"X-SLURM-USER-NAME": user, "X-SLURM-USER-TOKEN": cluster.token(user), "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(cluster.url + path, method=method, headers=headers, data=content)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return Answer(answer.status, answer.read())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return Answer(refusal.code, refusal.read())


def submit(cluster: SlurmCluster, script: str, *, user: str | None = None, **job: object) -> int:
    """Submit *script* and return the job's id; *job* adds to its description or replaces parts of it."""
    is_old = cluster.spec.version == "22.05"
    description = {
        "name": "plain",
        "partition": "main",
        "tasks": 1,
        "current_working_directory": str(cluster.jobs_dir),
        "standard_output": f"{cluster.jobs_dir}/%j.out",
        "standard_error": f"{cluster.jobs_dir}/%j.err",
        "environment": {"PATH": "/usr/bin:/bin"} if is_old else ["PATH=/usr/bin:/bin"],
        **job,
    }
    body = {"job": description, "script": script} if is_old else {"job": {**description, "script": script}}
    answer = call(cluster, "POST", f"/slurm/{cluster.rest_versions[-1]}/job/submit", body, user=user)
    if answer.status != 200:
        raise AssertionError(f"{answer.status}: {answer.body.decode()}\n{cluster.logs()}")
    return int(answer.json["job_id"])
