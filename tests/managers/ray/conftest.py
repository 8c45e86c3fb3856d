"""A fake head for each test, and the real one, also where the whole suite does not offer it."""

import pytest

from tests.managers.ray.worlds import RayWorld

FIXTURES = "tests.testbed.ray_fixtures"


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin(FIXTURES):
        config.pluginmanager.import_plugin(FIXTURES)


@pytest.fixture
async def fake(tmp_path):
    """Return the world of a fake head."""
    async with RayWorld(tmp_path) as world:
        yield world
