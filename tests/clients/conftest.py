"""Tests of clients may run in virtual time; certificates are made when they are needed."""

from __future__ import annotations

import pytest

from tests.certificates import Certificates, certificates_in
from tests.clients.kubeconfigs import Program
from tests.virtual import pytest_asyncio_loop_factories

__all__ = ["Certificates", "pytest_asyncio_loop_factories"]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory) -> Certificates:
    """Make an authority and a certificate; the tests that use them need `openssl`."""
    return certificates_in(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def program(tmp_path) -> Program:
    """A program that signs in to a cluster."""
    return Program(tmp_path)
