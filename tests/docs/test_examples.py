"""Every example does what it says, run as a reader would."""

from __future__ import annotations

from pathlib import Path

import pytest

from bascule.model import Target
from bascule.spec import load_file
from bascule.wiring import OWN_MACHINE, SystemClock, manager_named

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
ENDS_WITH = {"fail.sh": 3, "timeout.yaml": 72}
NO_JOBS = {"target.yaml", "survive.sh"}


EVERY = sorted(file for file in EXAMPLES.rglob("*") if file.is_file())


def test_every_example_says_what_it_shows():
    for example in EVERY:
        first, second = example.read_text().splitlines()[:2]

        assert (second if first.startswith("#!") else first).startswith("# "), example.name


@pytest.mark.parametrize(
    "path",
    [file for file in EVERY if file.parent != EXAMPLES and file.suffix != ".py"],
    ids=lambda file: str(file.relative_to(EXAMPLES)),
)
def test_an_example_for_another_manager_is_accepted(path):
    [noun] = load_file(path)

    target = noun if isinstance(noun, Target) else load_file(path.parent / "target.yaml")[0]
    manager = manager_named(path.parent.name).connect(target, "default", Desk())

    if noun is not target:
        manager.check(noun)


class Desk:
    """A place that a manager can be made in, and that has nothing."""

    clock = SystemClock()
    home = Path("/nonexistent")
    policy = OWN_MACHINE.policy

    async def secret(self, namespace, name, key):
        raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({file.name for file in EXAMPLES.iterdir() if file.is_file()} - NO_JOBS))
def test_it_ends_as_it_should(name, desk, as_reader):
    done = as_reader(["bascule", "run", f"examples/{name}"])

    assert ENDS_WITH.get(name, 0) == done.returncode, done.stdout


@pytest.mark.slow
def test_the_target_can_be_applied_and_used(as_reader):
    applied = as_reader(["bascule", "apply", "-f", "examples/target.yaml"])
    ran = as_reader(["bascule", "run", "examples/hello.sh", "--target", "small"])

    assert 0 == applied.returncode, applied.stdout
    assert 0 == ran.returncode, ran.stdout
