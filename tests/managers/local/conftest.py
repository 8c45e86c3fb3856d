"""Homes that end everything that was started in them."""

from collections.abc import AsyncIterator

import pytest

from tests.managers.local.homes import Home


@pytest.fixture
async def home(tmp_path) -> AsyncIterator[Home]:
    home = Home(tmp_path)
    yield home
    await home.close()


@pytest.fixture(params=[True, False], ids=["cgroups", "bare"])
async def either_home(tmp_path, request) -> AsyncIterator[Home]:
    """Return a home with cgroups, where the machine allows them, and then one without."""
    home = Home(tmp_path, cgroups=request.param)
    yield home
    await home.close()
