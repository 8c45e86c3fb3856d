"""
Fixtures for tests that talk to a real Kubernetes cluster. A plug-in, as ``fixtures``.

    @pytest.mark.real
    @pytest.mark.root
    def test_it(kube_cluster: KubeCluster) -> None: ...

`control_plane` has no nodes: objects live, and nothing runs. `kube_cluster` has two, and runs pods.
Tests that share one leave it as they found it: every program up, every node up, and no
objects but in a namespace that is the test's own (`namespace`).
"""

import contextlib
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.needs import missing
from tests.testbed import helm as helm_program
from tests.testbed import image, kube_parts
from tests.testbed.announcing import announce_to, names_in
from tests.testbed.kube import KubeCluster, KubeSpec
from tests.testbed.machine import Announce, TestbedUnavailable, why_not
from tests.testbed.tether import Tether

HINT = "run the tests as root on Debian, with its packages and the Go module proxy within reach"

CLUSTERS = {"control_plane", "kube_cluster", "start_kube", "start_kube_for_all"}

PREPARED: dict[str, Callable[[Announce], object]] = {
    **dict.fromkeys(CLUSTERS, kube_parts.ensure),
    "helm": helm_program.ensure,
    "bascule_image": image.ensure,
}
"""What is built before the first test runs, outside every test's time limit; by the fixture that wants it."""

_unavailable: dict[str, str] = {}
"""Why one of them cannot be had, found out before the tests; by fixture."""


PATIENCE = 300
"""Seconds for a test that may be the one for which a cluster starts: ten seconds where nothing else runs, and much more where others compile."""


@pytest.hookimpl(tryfirst=True)  # before pytest looks at marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs Kubernetes' programs, which take a quarter of an hour to compile, and give it time."""
    for item in items:
        if set(PREPARED) & set(names_in(item)) or "kube_testbed" in item.path.parts:
            item.add_marker(pytest.mark.kubernetes)
        if CLUSTERS & set(names_in(item)) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(PATIENCE))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Build what the collected tests will need."""
    if session.config.option.collectonly:
        return
    wanted = {name for item in session.items for name in names_in(item)} & set(PREPARED)
    for name in sorted(wanted):
        try:
            prepare(name, announce_to(session.config))
        except TestbedUnavailable as problem:
            _unavailable[name] = str(problem)


def prepare(name: str, announce: Announce) -> None:
    if reason := why_not():
        raise TestbedUnavailable(reason)
    PREPARED[name](announce)


@pytest.fixture(scope="session")
def control_plane() -> Iterator[KubeCluster]:
    yield from _cluster("control_plane", KubeSpec(nodes=0))


@pytest.fixture(scope="session")
def kube_cluster() -> Iterator[KubeCluster]:
    yield from _cluster("kube_cluster", KubeSpec(nodes=2))


@pytest.fixture
def start_kube() -> Iterator[Callable[[KubeSpec], KubeCluster]]:
    """Start clusters for one test alone, as its `KubeSpec` says; that takes some seconds."""
    yield from _starting()


@pytest.fixture(scope="module")
def start_kube_for_all() -> Iterator[Callable[[KubeSpec], KubeCluster]]:
    """Start clusters for all tests of a module."""
    yield from _starting()


def _starting() -> Iterator[Callable[[KubeSpec], KubeCluster]]:
    with contextlib.ExitStack() as until_the_end:

        def start(spec: KubeSpec) -> KubeCluster:
            cluster = _started("start_kube", spec)
            until_the_end.callback(cluster.stop)
            return cluster

        yield start


@pytest.fixture(scope="session")
def bascule_image() -> Path:
    """The archive with the image of this tree, called `image.IMAGE`; `KubeCluster.load` takes it to the nodes."""
    return _built("bascule_image", image.ensure)


@pytest.fixture(scope="session")
def helm() -> Path:
    """The program `helm`; `KubeCluster.environment` says where its cluster is."""
    return _built("helm", helm_program.ensure)


@pytest.fixture(scope="session")
def tether() -> Iterator[Tether]:
    """What holds programs that tests start, so that none outlives the run."""
    with Tether() as tether:
        yield tether


@pytest.fixture
def namespace() -> str:
    """A name that no other test's namespace has."""
    return f"test-{secrets.token_hex(4)}"


def _built(name: str, ensure: Callable[[], Path]) -> Path:
    if name in _unavailable:
        _missing(_unavailable[name], what=f"the fixture `{name}`")
    return ensure()


def _cluster(name: str, spec: KubeSpec) -> Iterator[KubeCluster]:
    cluster = _started(name, spec)
    try:
        yield cluster
    finally:
        cluster.stop()


def _started(name: str, spec: KubeSpec) -> KubeCluster:
    if name in _unavailable:
        _missing(_unavailable[name])
    cluster = KubeCluster(spec)
    try:
        cluster.start()
    except TestbedUnavailable as problem:
        _missing(str(problem))
    return cluster


def _missing(why: str, *, what: str = "a Kubernetes cluster") -> NoReturn:
    missing(what, hint=f"{HINT} ({why})")
