"""The fake slurmrestd answers as the real ones do: status, error numbers, and the fields that are there."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request

import pytest

from tests.fakes.slurmrestd.cluster import FakeCluster
from tests.fakes.slurmrestd.server import TOKEN, FakeSlurmrestd
from tests.testbed.slurm_rest import call

pytestmark = [pytest.mark.real, pytest.mark.root]

PAIRS = {"slurm_2205": "v0.0.38", "slurm_2411_dbd": "v0.0.42", "slurm_2605_dbd": "v0.0.45"}


@pytest.fixture(params=PAIRS)
def pair(request):
    cluster = request.getfixturevalue(request.param)
    version = PAIRS[request.param]
    with FakeSlurmrestd(FakeCluster(time.time, accounting=cluster.spec.accounting), version) as fake:
        yield Pair(cluster, fake, version)


class Pair:
    """The same request to both."""

    def __init__(self, real, fake, version):
        self.real, self.fake, self.version = real, fake, version
        self.old = version == "v0.0.38"

    def ask(self, method, path, body=None):
        """Return both answers, each as (status, error numbers, names of fields)."""
        path = path.replace("@", self.version)
        real = call(self.real, method, path, body)
        status, content = self._of_fake(method, path, body)
        return told(real.status, real.body), told(status, content)

    def submit(self, **job):
        script = "#!/bin/sh\nsleep 20\n"
        environment = {"PATH": "/bin"} if self.old else ["PATH=/bin"]
        whole = {
            "name": "same",
            "current_working_directory": str(self.real.jobs_dir),
            "environment": environment,
            **job,
        }
        body = {"script": script, "job": {name: value for name, value in whole.items() if value is not None}}
        path = f"/slurm/{self.version}/job/submit"
        real = call(self.real, "POST", path, body)
        status, content = self._of_fake("POST", path, body)
        return (told(real.status, real.body), told(status, content)), [number(real.body), number(content)]

    def on_each(self, method, path, ids, body=None):
        """As `ask`, where the job has another id on each side."""
        real = call(self.real, method, path.replace("@", self.version).replace("ID", str(ids[0])), body)
        status, content = self._of_fake(method, path.replace("@", self.version).replace("ID", str(ids[1])), body)
        return told(real.status, real.body), told(status, content)

    def _of_fake(self, method, path, body):
        headers = {"X-SLURM-USER-NAME": "alice", "X-SLURM-USER-TOKEN": TOKEN}
        data = None if body is None else json.dumps(body).encode()
        # urllib always asks for the connection to be closed, which is no crime of ours here.
        request = urllib.request.Request(self.fake.url + path, method=method, headers=headers, data=data)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read()


def number(body):
    return json.loads(body).get("job_id", 0)


def told(status, body):
    try:
        plain = json.loads(body)
    except ValueError:
        return status, set(), "text"
    codes = {error.get("error_number", error.get("error_code")) for error in plain.get("errors", [])}
    if isinstance(plain.get("status"), list):
        codes |= {each["error"]["code"] for each in plain["status"]}
    matter = {"jobs", "job_id", "pings", "partitions", "errors", "warnings", "status"}
    return status, codes - {None}, tuple(sorted(matter & plain.keys()))


class TestSame:
    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "/slurm/@/ping"),
            ("GET", "/slurm/@/jobs"),
            ("GET", "/slurm/@/partitions"),
            ("GET", "/slurm/@/job/99999"),
            ("GET", "/slurm/@/nosuch"),
            ("GET", "/slurm/v9.9.9/jobs"),
            ("GET", "/slurm/@/jobs?update_time=4102444800"),
            ("DELETE", "/slurm/@/job/99999"),
        ],
    )
    def test_a_question_has_the_same_answer(self, pair, method, path):
        real, fake = pair.ask(method, path)

        assert real[:2] == fake[:2]
        assert set(real[2]) >= set(fake[2]) - {"status"}

    def test_a_queue_of_ids_is_repeated_names(self, pair):
        if pair.old:
            return
        repeated = pair.ask("GET", "/slurm/@/jobs/state?job_id=1&job_id=2")
        comma = pair.ask("GET", "/slurm/@/jobs/state?job_id=1,2")

        assert [200, 200] == [told[0] for told in repeated]
        assert all(told[0] >= 400 for told in comma)

    @pytest.mark.parametrize(
        "job",
        [{}, {"hold": True}, {"partition": "nosuch"}, {"frobnicate": 1}],
        ids=["plain", "held", "partition", "unknown"],
    )
    def test_a_submit_has_the_same_answer(self, pair, job):
        (real, fake), ids = pair.submit(**job)

        assert real == fake
        assert bool(ids[0]) is bool(ids[1])

    def test_a_held_job_is_released_and_ended_the_same(self, pair):
        _, ids = pair.submit(hold=True)

        for method, path, body in (
            ("GET", "/slurm/@/job/ID", None),
            ("POST", "/slurm/@/job/ID", {"job": {"hold": False}}),
            ("POST", "/slurm/@/job/ID", {"hold": False}),
            ("POST", "/slurm/@/job/ID", {"hold": True}),
            ("DELETE", "/slurm/@/job/ID", None),
            ("DELETE", "/slurm/@/job/ID", None),
            ("POST", "/slurm/@/job/ID", {"hold": False}),
        ):
            real, fake = pair.on_each(method, path, ids, body)
            assert real[:2] == fake[:2], (method, path, body)
