"""The world of the contract, for tests of what only a quantum service can get into."""

import pytest

from tests.managers.quantum.worlds import QuantumWorld


@pytest.fixture
async def world(tmp_path):
    async with QuantumWorld(tmp_path) as world:
        yield world
