"""What the fixtures need of pytest before the first test: which fixtures it will want, and the terminal."""

import sys
from collections.abc import Iterator

import pytest

from tests.testbed.machine import Announce


def names_in(item: pytest.Item) -> Iterator[str]:
    """Give the fixtures that *item* names, also by a parameter that chooses among them."""
    yield from getattr(item, "fixturenames", ())
    if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
        yield from (value for value in item.callspec.params.values() if isinstance(value, str))


def announce_to(config: pytest.Config) -> Announce:
    def announce(line: str) -> None:
        capture = config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", file=sys.stderr, flush=True)

    return announce
