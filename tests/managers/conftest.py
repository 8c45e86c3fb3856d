"""Tests of managers may run in virtual time, and the asserts of their contract are explained like their own."""

import pytest

pytest.register_assert_rewrite("tests.contracts")

from tests.virtual import pytest_asyncio_loop_factories  # noqa: E402

__all__ = ["pytest_asyncio_loop_factories"]
