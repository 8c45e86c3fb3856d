"""The clusters, for this folder's tests also where the whole suite does not offer them."""

import pytest

FIXTURES = ("tests.testbed.fixtures", "tests.testbed.kube_fixtures")


def pytest_configure(config: pytest.Config) -> None:
    for plugin in FIXTURES:
        if not config.pluginmanager.has_plugin(plugin):
            config.pluginmanager.import_plugin(plugin)
