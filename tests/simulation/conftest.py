"""What every test of the simulation shares: seeds are run in memory where there is room, and leave no trace."""

from __future__ import annotations

import pytest
import structlog

from tests.simulation.runs import ready


@pytest.fixture
def run():
    """A function that runs a seed."""
    kept = structlog.get_config()
    with ready() as run_seed:
        yield run_seed
    structlog.configure(**kept)
