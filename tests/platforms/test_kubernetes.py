"""The platform Kubernetes passes the contract, on a real API server."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from tests.contracts.platform import PlatformContract
from tests.platforms.kubernetes_world import KubernetesWorld


@pytest.mark.real
@pytest.mark.root
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
class TestKubernetes(PlatformContract):
    world_type = KubernetesWorld
    loop_factory = asyncio.new_event_loop

    @pytest.fixture
    async def world(self, tmp_path, control_plane):
        async with KubernetesWorld(tmp_path, Path(control_plane.kubeconfig)) as world:
            yield world
        gc.collect()  # asyncio warns of TLS that was cut short; here, and in no other test
