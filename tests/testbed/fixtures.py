"""
Fixtures for tests that talk to a real Slurm cluster.

A plug-in: ``pytest_plugins = ["tests.testbed.fixtures"]`` in the root ``conftest.py``.
Each cluster is started when the first test wants it, once a session (once a worker under
xdist), and is gone after it. What it is built from is built before the first test runs,
outside every test's time limit, and with a line on the terminal.

    @pytest.mark.real
    @pytest.mark.root
    def test_it(slurm_2605_dbd: SlurmCluster) -> None: ...

Tests that share a cluster leave it as they found it: every program up, every node up.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest

from tests.needs import missing
from tests.testbed.announcing import announce_to, names_in
from tests.testbed.machine import Announce, TestbedUnavailable, why_not
from tests.testbed.roots import ensure
from tests.testbed.slurm import SlurmCluster, SlurmSpec
from tests.testbed.slurm_roots import Version, roots_for

CLUSTERS: dict[str, tuple[Version, bool]] = {
    "slurm_2205": ("22.05", False),
    "slurm_2205_dbd": ("22.05", True),
    "slurm_2411": ("24.11", False),
    "slurm_2411_dbd": ("24.11", True),
    "slurm_2605": ("26.05", False),
    "slurm_2605_dbd": ("26.05", True),
}

HINT = "run the tests as root on Debian, with its packages within reach"

_unavailable: dict[str, str] = {}
"""Why a cluster cannot be had, found out before the tests; by fixture."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Build the roots that the collected tests will need."""
    if session.config.option.collectonly:
        return
    wanted = {name for item in session.items for name in names_in(item)}
    for name, (version, accounting) in CLUSTERS.items():
        if not wanted & {name, "start_slurm"}:
            continue
        try:
            prepare(version, accounting=accounting, announce=announce_to(session.config))
        except TestbedUnavailable as problem:
            _unavailable[name] = str(problem)


def prepare(version: Version, *, accounting: bool, announce: Announce) -> None:
    if reason := why_not():
        raise TestbedUnavailable(reason)
    for root in roots_for(version, accounting=accounting):
        ensure(root, announce)


@pytest.fixture(scope="session")
def slurm_2205() -> Iterator[SlurmCluster]:
    yield from _cluster("slurm_2205")


@pytest.fixture(scope="session")
def slurm_2205_dbd() -> Iterator[SlurmCluster]:
    yield from _cluster("slurm_2205_dbd")


@pytest.fixture(scope="session")
def slurm_2411() -> Iterator[SlurmCluster]:
    yield from _cluster("slurm_2411")


@pytest.fixture(scope="session")
def slurm_2411_dbd() -> Iterator[SlurmCluster]:
    yield from _cluster("slurm_2411_dbd")


@pytest.fixture(scope="session")
def slurm_2605() -> Iterator[SlurmCluster]:
    yield from _cluster("slurm_2605")


@pytest.fixture(scope="session")
def slurm_2605_dbd() -> Iterator[SlurmCluster]:
    yield from _cluster("slurm_2605_dbd")


@pytest.fixture
def start_slurm() -> Iterator[Callable[[SlurmSpec], SlurmCluster]]:
    """Start clusters for one test alone, as its `SlurmSpec` says; that takes a second or less."""
    with contextlib.ExitStack() as until_the_end:

        def start(spec: SlurmSpec) -> SlurmCluster:
            cluster = _started(spec)
            until_the_end.callback(cluster.stop)
            return cluster

        yield start


def _cluster(name: str) -> Iterator[SlurmCluster]:
    version, accounting = CLUSTERS[name]
    if name in _unavailable:
        _missing(version, _unavailable[name])
    cluster = _started(SlurmSpec(version=version, accounting=accounting))
    try:
        yield cluster
    finally:
        cluster.stop()


def _started(spec: SlurmSpec) -> SlurmCluster:
    cluster = SlurmCluster(spec)
    try:
        cluster.start()
    except TestbedUnavailable as problem:
        _missing(spec.version, str(problem))
    return cluster


def _missing(version: Version, why: str) -> NoReturn:
    missing(f"a Slurm {version} cluster", hint=f"{HINT} ({why})")
