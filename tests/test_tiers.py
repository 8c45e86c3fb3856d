"""Every test is run by exactly one tier of `make test`, whatever its marks."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

ROOT = Path(__file__).parents[1]
MARKS = ("alone", "kubernetes", "long", "real", "root", "slow")


def expressions():
    """Return what each pytest of the tiers that `make test` runs selects."""
    asked = re.search(r"^test:.*\n\t.*check\.py (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert asked is not None
    program = "import sys; sys.path.insert(0, 'tools'); import check; print(*("
    program += "command[command.index('-m') + 1] for name in sys.argv[1:] for command in check.TIERS[name].commands"
    program += " if command[0] == 'pytest'), sep='\\n')"
    called = [sys.executable, "-c", program, *shlex.split(asked[1])]
    return subprocess.run(called, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(
    "marks",
    [
        marks
        for count in range(len(MARKS) + 1)
        for marks in itertools.combinations(MARKS, count)
        # What takes all cores takes its time, too.
        if "alone" not in marks or {"slow", "real", "root", "kubernetes"} & set(marks)
    ],
    ids="-".join,
)
def test_it_is_run_once(marks, selections):
    assert 1 == sum(one.evaluate(lambda name, **_: name in marks) for one in selections)


@pytest.fixture(scope="module")
def selections():
    return [Expression.compile(one) for one in expressions()]
