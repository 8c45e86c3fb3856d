"""
What holds for every test: a sealed environment, and needs that are looked at before it runs.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import hypothesis
import pytest

from tests.needs import missing

pytest_plugins = [
    "tests.testbed.fixtures",
    "tests.testbed.kube_fixtures",
    "tests.testbed.quantum_fixtures",
    "tests.testbed.ray_fixtures",
]

# The asserts of the contracts are explained like a test's own.
pytest.register_assert_rewrite("tests.contracts")

SOURCE = Path(__file__).resolve().parent.parent / "src"


def pytest_configure(config: pytest.Config) -> None:
    """Keep the machine's settings out of the tests, and the tests out of the user's home."""
    # A run in the background may have been started with these ignored, and every child would be too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for name in [name for name in os.environ if name.startswith("BASCULE_")]:
        del os.environ[name]
    state = tempfile.mkdtemp(prefix="bascule-")  # a test that gives no home gets a throw-away one
    config.add_cleanup(lambda: shutil.rmtree(state, ignore_errors=True))
    os.environ.update(XDG_STATE_HOME=state, PYTHONPATH=str(SOURCE), TZ="UTC", LC_ALL="C.UTF-8")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose needs are not met, or fail it in CI."""
    for mark in item.iter_markers("needs"):
        what, is_there, hint = mark.args
        if not is_there():
            missing(what, hint=hint)


# Two cores run four processes here: how long an example takes says nothing. In CI a failure
# must be one that the next run shows again.
hypothesis.settings.register_profile(
    "bascule", deadline=None, derandomize=os.environ.get("CI") == "true", print_blob=True
)
hypothesis.settings.load_profile("bascule")
