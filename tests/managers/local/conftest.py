"""Homes that end everything that was started in them."""

from collections.abc import AsyncIterator

import pytest

from tests.managers.local.homes import Home


@pytest.fixture
async def home(tmp_path) -> AsyncIterator[Home]:
    home = Home(tmp_path)
    yield home
    await home.close()
