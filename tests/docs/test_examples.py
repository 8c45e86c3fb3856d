"""Every example does what it says, run as a reader would."""

from __future__ import annotations

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
ENDS_WITH = {"fail.sh": 3, "timeout.yaml": 72}
NO_JOBS = {"target.yaml", "survive.sh"}


def test_every_example_says_what_it_shows():
    for example in EXAMPLES.iterdir():
        first, second = example.read_text().splitlines()[:2]

        assert (second if first.startswith("#!") else first).startswith("# "), example.name


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({file.name for file in EXAMPLES.iterdir()} - NO_JOBS))
def test_it_ends_as_it_should(name, desk, as_reader):
    done = as_reader(["bascule", "run", f"examples/{name}"])

    assert ENDS_WITH.get(name, 0) == done.returncode, done.stdout


@pytest.mark.slow
def test_the_target_can_be_applied_and_used(as_reader):
    applied = as_reader(["bascule", "apply", "-f", "examples/target.yaml"])
    ran = as_reader(["bascule", "run", "examples/hello.sh", "--target", "small"])

    assert 0 == applied.returncode, applied.stdout
    assert 0 == ran.returncode, ran.stdout
