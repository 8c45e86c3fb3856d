"""One world of controller pods for all tests that are side by side."""

from __future__ import annotations

import pytest

from tests.mirrors.world import MirrorWorld


@pytest.fixture(scope="module")
def shared_world(control_plane, tether, tmp_path_factory):
    with MirrorWorld(control_plane.kubeconfig, tmp_path_factory.mktemp("mirrors"), tether) as world:
        world.start_operator()
        yield world


@pytest.fixture
def world(shared_world):
    """The world, with a namespace of the test's own and an operator that runs."""
    if shared_world.operator is None or shared_world.operator.poll() is not None:
        shared_world.start_operator()
    shared_world.new_namespace()
    yield shared_world
    shared_world.kubelet.is_dead = False
    shared_world.kubelet.settings.clear()
