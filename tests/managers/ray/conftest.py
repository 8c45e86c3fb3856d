"""The real head, for this folder's tests also where the whole suite does not offer it."""

import pytest

FIXTURES = "tests.testbed.ray_fixtures"


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin(FIXTURES):
        config.pluginmanager.import_plugin(FIXTURES)
