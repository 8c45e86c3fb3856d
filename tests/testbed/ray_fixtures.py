"""
Fixtures for tests that talk to a real Ray head; a plug-in like ``fixtures``.

The head is started when the first test wants it, once a session (once a worker under xdist), and is
gone after it. Ray is installed before the first test runs, outside every test's time limit.

    @pytest.mark.real
    @pytest.mark.root
    def test_it(ray_head: RayHead) -> None: ...

Tests that share the head leave it without running jobs; `own_ray_head` is one to be killed.
"""

import sys
from collections.abc import Iterator

import pytest

from tests.needs import missing
from tests.testbed.machine import TestbedUnavailable, why_not
from tests.testbed.ray_head import RayHead, programs

NAMES = {"ray_head", "own_ray_head"}
TOKEN = "a-token-for-the-testbed-0123456789"
HINT = "run the tests as root on Debian, with a package index within reach"

_unavailable: list[str] = []
"""Why Ray cannot be had, found out before the tests."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Install Ray if the collected tests will need it."""
    if session.config.option.collectonly:
        return
    if not any(NAMES & set(getattr(item, "fixturenames", ())) for item in session.items):
        return
    if reason := why_not():
        _unavailable.append(reason)
        return
    try:
        programs(lambda line: _announce(session.config, line))
    except TestbedUnavailable as problem:
        _unavailable.append(str(problem))


@pytest.fixture(scope="session")
def ray_head() -> Iterator[RayHead]:
    """Return a head that asks for no token; a few processors, which jobs need not reserve."""
    yield from _started(RayHead())


@pytest.fixture(scope="module")
def own_ray_head() -> Iterator[RayHead]:
    """Return a head in token mode, to be killed and started anew."""
    yield from _started(RayHead(token=TOKEN, cpus=1))


def _started(head: RayHead) -> Iterator[RayHead]:
    if _unavailable:
        missing("a Ray head", hint=f"{HINT} ({_unavailable[0]})")
    try:
        head.start()
    except TestbedUnavailable as problem:
        missing("a Ray head", hint=f"{HINT} ({problem})")
    try:
        yield head
    finally:
        head.stop()


def _announce(config: pytest.Config, line: str) -> None:
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{line}", file=sys.stderr, flush=True)
