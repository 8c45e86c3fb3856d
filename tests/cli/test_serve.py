"""`serve` keeps everything moving, and says how it does."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import pytest

from bascule.cli.metrics import Metric, written
from tests.cli.conftest import until


class Service:
    """A `serve` that has begun, and the pages it shows."""

    def __init__(self, terminal) -> None:
        self.process = terminal.start("serve", "--port", "0")
        while not (
            found := re.search(rb"metrics at (http://127\.0\.0\.1:\d+)/", line := self.process.stderr.readline())
        ):
            assert line
        self.address = found[1].decode()

    def page(self, path: str, method: str = "GET") -> tuple[int, str]:
        request = urllib.request.Request(self.address + path, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, answer.read().decode()

    def metric(self, name: str) -> float:
        found = re.search(rf"^{re.escape(name)} (.*)$", self.page("/metrics")[1], flags=re.MULTILINE)
        assert found, name
        return float(found[1])


@pytest.fixture
def service(terminal):
    return Service(terminal)


def test_it_moves_what_others_only_store(service, terminal, command):
    terminal.yaml("jobs.yaml", "a: run: {command: ['true']}", "b: run: {command: ['true']}, after: [{job: a}]")

    command("apply", "-f", "jobs.yaml")

    until(lambda: 2 == command("get", "jobs", "--cached").out.count("Succeeded"), "both succeed")
    until(lambda: 0 < service.metric('bascule_target_polls_total{target="local"}'))
    assert 1 == service.metric("bascule_driving")
    assert 1 == service.metric('bascule_target_reachable{target="local"}')


def test_it_is_healthy_and_ready(service):
    until(lambda: (200, "drives\n") == service.page("/readyz"), "it drives")

    assert (200, "ok\n") == service.page("/healthz")
    assert 404 == service.page("/other")[0]
    assert 405 == service.page("/metrics", method="POST")[0]


def test_term_ends_it_and_no_job(service, terminal, command):
    command("submit", terminal.script("a.sh", "sleep 60"))

    service.process.terminate()
    _, err = service.process.communicate(timeout=30)

    assert 0 == service.process.returncode
    assert b"stopped by SIGTERM; the jobs go on" in err
    until(lambda: "Running" in command("get", "jobs").out, "it runs on")


def test_a_second_one_is_not_ready_until_it_takes_over(service, terminal):
    until(lambda: 200 == service.page("/readyz")[0], "the first drives")
    second = Service(terminal)
    before = second.page("/readyz")

    service.process.kill()

    assert (503, f"process {service.process.pid} drives this home\n") == before
    until(lambda: 200 == second.page("/readyz")[0], "the second drives")


def test_a_port_that_is_taken_is_told(service, terminal):
    done = terminal.run("serve", "--port", service.address.rpartition(":")[2])

    assert 64 == done.returncode
    assert b"cannot be used: " in done.stderr


@pytest.mark.parametrize("port", ["65536", "99999", "-1", "x"])
def test_a_port_that_cannot_be_is_a_mistake(command, port):
    done = command("serve", f"--port={port}")

    assert 64 == done.code
    assert "hint: give one from 0" in done.err


def test_a_label_may_hold_anything():
    metric = Metric("m", "gauge", "what it is", (({"target": 'a"b\\c\nd'}, 1.5),))

    assert '# HELP m what it is\n# TYPE m gauge\nm{target="a\\"b\\\\c\\nd"} 1.5\n' == written([metric])
