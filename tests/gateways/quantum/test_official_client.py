"""The official client, unmodified, finds in our gateway the service that it was written for."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

CLIENT = Path(__file__).parent / "official_client.py"

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def saw(quantum_gateway, tmp_path_factory):
    """Run the client once, and return what it saw."""
    command = [quantum_gateway.programs / "python", CLIENT]
    done = subprocess.run(
        [*command, quantum_gateway.url, quantum_gateway.key, quantum_gateway.instance],
        env={**os.environ, "HOME": str(tmp_path_factory.mktemp("client"))},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def test_it_finds_the_backends(saw):
    assert ["aer", "line5"] == saw["backends"]
    assert "line5" == saw["least busy"]
    assert "active" == saw["status"]


def test_it_samples(saw):
    counts = saw["counts"]

    assert 1000 == sum(counts.values())
    assert 400 < counts["00"] < 600
    assert 400 < counts["11"] < 600
    assert ["DONE", ["bell"], True, True] == saw["sampled"]
    assert {"pubs", "options"} <= set(saw["inputs"])


def test_it_binds_parameters(saw):
    assert [{"0": 64}, {"1": 64}] == saw["turned"]


def test_it_estimates(saw):
    value, error = saw["expectation"]

    assert abs(value - 2) < 0.35  # ZZ + XX + ZI of a Bell pair is 2, less the device's errors
    assert 0 < error < 0.1


def test_it_runs_a_program_of_the_executor(saw):
    counts = saw["executor"]

    assert 200 == sum(counts.values())
    assert counts["00"] + counts["11"] > 170


def test_it_works_in_a_session_and_closes_it(saw):
    assert ["open", True] == saw["session"]
    assert ["closed", False] == saw["session afterwards"]
    assert "closed" in saw["closed session"]


def test_it_cancels(saw):
    assert "CANCELLED" == saw["cancelled"]
    assert "RuntimeInvalidStateError" == saw["cancelled too late"]


def test_it_is_told_what_there_is_not(saw):
    assert "RuntimeJobNotFound" == saw["unknown"]
    assert saw["deleted"]


def test_it_is_told_that_a_job_ran_too_long(saw):
    assert "RuntimeJobMaxTimeoutError" == saw["ran too long"]
