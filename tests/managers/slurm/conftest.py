"""The real clusters, for this folder's tests also where the whole suite does not offer them."""

import pytest

FIXTURES = "tests.testbed.fixtures"


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin(FIXTURES):
        config.pluginmanager.import_plugin(FIXTURES)
