"""
The simulation finds every known wrong behaviour: each at a seed that is known to.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import structlog

from tests.simulation.mutants import hunt
from tests.simulation.planted import MUTANTS, planted

ROOT = Path(__file__).resolve().parent.parent.parent
NEARBY = 40
"""How many seeds from the known one on are tried: a change of the stories moves things a little."""

KNOWN: dict[str, int] = {}


@pytest.fixture(autouse=True)
def own_logging():
    kept = structlog.get_config()
    yield
    structlog.configure(**kept)


def test_every_planted_bug_is_looked_for():
    assert len(MUTANTS) >= 20
    assert KNOWN.keys() == MUTANTS.keys()


def test_the_page_tells_of_every_planted_bug():
    page = (ROOT / "docs" / "reliability.md").read_text()
    told = set(re.findall(r"^\| ([a-z ]+) \| \d+ \|", page, flags=re.MULTILINE))

    assert told == {name.replace("_", " ") for name in MUTANTS}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MUTANTS)
def test_it_is_found(name):
    known = KNOWN[name]

    found = hunt(name, range(known, known + NEARBY))

    assert found.found_at is not None, (
        f"seeds {known} to {known + NEARBY - 1} do not find it any more; "
        f"look for another with `python -m tests.simulation.mutants {name}`"
    )


def test_a_planted_bug_is_taken_out_again(run):
    name, seed = "never_released", KNOWN["never_released"]
    with planted(name):
        during = run(seed)[1]

    assert during
    assert not run(seed)[1]
