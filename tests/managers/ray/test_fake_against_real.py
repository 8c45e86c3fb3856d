"""The fake head answers as a real one does, question by question; what differs is written here."""

from __future__ import annotations

import http.client
import json
import secrets
import time

import pytest

from tests.fakes.ray.cluster import FakeCluster
from tests.fakes.ray.server import FakeHead

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.timeout(240)]

ZIP = b"PK\x05\x06" + b"\0" * 18


class Pair:
    """The same question to both; ID in a path or body is an id of this test's own."""

    def __init__(self, real_url: str, fake: FakeHead) -> None:
        self.fake = fake
        self.id = f"pair-{secrets.token_hex(4)}"
        self._places = [real_url.removeprefix("http://"), fake.url.removeprefix("http://")]

    def ask(self, method: str, path: str, body: object = None):
        data = body if isinstance(body, bytes | None) else json.dumps(body).replace("ID", self.id).encode()
        return [told(*self._one(place, method, path.replace("ID", self.id), data)) for place in self._places]

    def submit(self, **more: object):
        return self.ask("POST", "/api/jobs/", {"entrypoint": "sleep 60", "submission_id": "ID", **more})

    def becomes(self, status: str) -> None:
        """Wait for the real one, as the fake was moved by hand."""
        ends = time.monotonic() + 60
        while json.loads(self._one(self._places[0], "GET", f"/api/jobs/{self.id}", None)[1])["status"] != status:
            assert time.monotonic() < ends, status
            time.sleep(0.1)

    def details(self):
        return [json.loads(self._one(place, "GET", f"/api/jobs/{self.id}", None)[1]) for place in self._places]

    def _one(self, place: str, method: str, path: str, data: bytes | None):
        connection = http.client.HTTPConnection(place, timeout=60)
        connection.request(method, path, body=data)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body


def told(status: int, body: bytes):
    """Return what a client can go by: the status, and the keys of an object or the signs in a text."""
    text = body.decode()
    try:
        plain = json.loads(text)
    except ValueError:
        signs = (
            "does not exist",
            "already exists",
            "status code 400",
            "non-terminal",
            "TypeError",
            "not a valid Protocol",
        )
        return status, [sign for sign in signs if sign in text]
    return status, sorted(plain) if isinstance(plain, dict) else "list"


@pytest.fixture
def pair(ray_head):
    with FakeHead(FakeCluster(time.time)) as fake:
        pair = Pair(ray_head.url, fake)
        yield pair
        pair.ask("POST", "/api/jobs/ID/stop")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/version", None),
        ("GET", "/api/jobs/", None),
        ("GET", "/api/jobs/nobody", None),
        ("GET", "/api/jobs/nobody/logs", None),
        ("POST", "/api/jobs/nobody/stop", None),
        ("DELETE", "/api/jobs/nobody", None),
        ("PUT", "/api/jobs/", {}),
        ("POST", "/api/jobs/", {}),
        ("POST", "/api/jobs/", {"entrypoint": "true", "frobnicate": 1}),
        ("POST", "/api/jobs/", {"entrypoint": "true", "metadata": {"a": 1}}),
        ("POST", "/api/jobs/", b"{"),
        ("GET", "/api/packages/gcs/_ray_pkg_ID.zip", None),
        ("PUT", "/api/packages/foo/_ray_pkg_ID.zip", ZIP),
    ],
    ids=lambda value: "body" if isinstance(value, bytes) else str(value),
)
def test_a_question_has_the_same_answer(pair, method, path, body):
    real, fake = pair.ask(method, path, body)

    assert real == fake


def test_a_package_is_there_once_it_was_brought(pair):
    path = "/api/packages/gcs/_ray_pkg_ID.zip"

    answers = [pair.ask(method, path, ZIP if method == "PUT" else None) for method in ("GET", "PUT", "PUT", "GET")]

    assert [[404, 404], [200, 200], [200, 200], [200, 200]] == [[status for status, _ in both] for both in answers]


def test_a_job_runs_and_is_stopped_the_same(pair):
    steps = [pair.submit()]
    pair.fake.cluster.start(pair.id)
    pair.becomes("RUNNING")
    running = pair.details()
    steps += [pair.submit(), pair.ask("DELETE", "/api/jobs/ID"), pair.ask("GET", "/api/jobs/ID/logs")]
    steps.append(pair.ask("POST", "/api/jobs/ID/stop"))
    pair.becomes("STOPPED")
    stopped = pair.details()
    steps += [
        pair.ask("POST", "/api/jobs/ID/stop"),
        pair.ask("DELETE", "/api/jobs/ID"),
        pair.ask("GET", "/api/jobs/ID"),
    ]

    assert [real for real, _ in steps] == [fake for _, fake in steps]
    for real, fake in (running, stopped):
        assert real.keys() == fake.keys()
        same = ("type", "job_id", "submission_id", "status", "message", "error_type", "driver_exit_code", "metadata")
        assert {name: real[name] for name in same} == {name: fake[name] for name in same}
        assert (real["end_time"] is None) is (fake["end_time"] is None)


def test_a_job_that_fails_says_so_the_same(pair):
    pair.submit(entrypoint="echo boom >&2; exit 3", metadata={"a": "b"})
    pair.fake.cluster.start(pair.id)
    pair.fake.cluster.jobs[pair.id].log += b"boom\n"
    pair.fake.cluster.finish(pair.id, exit_code=3)
    pair.becomes("FAILED")

    real, fake = pair.details()

    same = ("status", "error_type", "driver_exit_code", "metadata", "entrypoint")
    assert {name: real[name] for name in same} == {name: fake[name] for name in same}
    assert real["message"].splitlines()[0] == fake["message"].splitlines()[0]


def test_a_job_that_waits_for_resources_is_said_to_be_stopped_and_kept(pair):
    """
    The claim is a real head's, and so is what becomes of it: nothing, until it has a place for the job.
    """
    steps = [pair.submit(entrypoint_num_cpus=64)]
    waiting = pair.details()
    steps.append(pair.ask("POST", "/api/jobs/ID/stop"))
    time.sleep(2)
    kept = pair.details()
    steps.append(pair.ask("DELETE", "/api/jobs/ID"))

    assert [real for real, _ in steps] == [fake for _, fake in steps]
    for real, fake in (waiting, kept):
        assert ("PENDING", real["message"]) == (fake["status"], fake["message"])


def test_a_package_that_is_not_there_fails_the_job_and_not_the_submit(pair):
    submitted = pair.submit(runtime_env={"working_dir": "gcs://_ray_pkg_nobody.zip"})
    pair.fake.cluster.start(pair.id)
    pair.becomes("FAILED")

    real, fake = pair.details()

    assert submitted[0] == submitted[1]
    assert (real["status"], real["error_type"], real["driver_exit_code"]) == (
        fake["status"],
        fake["error_type"],
        fake["driver_exit_code"],
    )
    assert real["message"].startswith("runtime_env setup failed")
