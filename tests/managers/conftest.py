"""Tests of managers may run in virtual time."""

from tests.virtual import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
