"""A place of LSF for a test: of the new edition, the old one, or both."""

from __future__ import annotations

import pytest

from tests.managers.lsf.test_contract import NewWorld, OldWorld


class DirectWorld(NewWorld):
    submission = "Direct"


@pytest.fixture(params=[NewWorld, OldWorld], ids=lambda world: world.__name__)
async def world(request, tmp_path):
    async with request.param(tmp_path) as world:
        yield world


@pytest.fixture
async def new(tmp_path):
    async with NewWorld(tmp_path) as world:
        yield world


@pytest.fixture
async def old(tmp_path):
    async with OldWorld(tmp_path) as world:
        yield world


@pytest.fixture
async def direct(tmp_path):
    async with DirectWorld(tmp_path) as world:
        yield world
