"""
Rules of the house that no linter knows; docs/architecture.md and CONTRIBUTING.md give the reasons.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

from tests.needs import needs

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
LONGEST = 300
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "common", "base", "misc", "impl"}
# Brackets keep the patterns from finding themselves.
NOT_IN_GIT = {
    "a path of somebody's machine": r"(?<![\w.])/(?:work|farm|root)/",
    "the host of a package registry": (
        r"pypi[.]org|python[h]osted[.]org|npmjs[.]org|(?:static[.]|://)crates[.]io|proxy[.]golang[.]org"
        r"|repo1?[.]maven|(?:deb|security|ftp|snapshot)[.]debian[.]org"
    ),
    "a private key": r"BEGIN [A-Z ]*PRIVATE[ ]KEY",
}

of_each_source = pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8", errors="replace").splitlines()


@of_each_source
def test_tasks_are_made_only_in_a_task_group(file):
    """
    A task outside a TaskGroup outlives its reason, and its failure is seen by nobody.
    """
    text = file.read_text()
    groups = re.findall(r"TaskGroup\(\) as (\w+)", text) + re.findall(r"(\w+): (?:asyncio\.)?TaskGroup\b", text)
    makers = re.findall(r"([\w.]+)\.create_task\(", text)

    assert not [maker for maker in makers if maker.rpartition(".")[2] not in groups]
    assert "ensure_future" not in text


@of_each_source
def test_only_the_worker_catches_everything(file):
    """
    A broad catch hides bugs; the queue's worker has the one that keeps a bug from costing more than a job.
    """
    if file.name == "workqueue.py":
        return
    catches = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ExceptHandler)]
    broad = [catch.lineno for catch in catches if catches_everything(catch) and not raises_again(catch)]

    assert not broad


def catches_everything(catch: ast.ExceptHandler) -> bool:
    caught = ["BaseException"] if catch.type is None else re.findall(r"\w+", ast.unparse(catch.type))
    return not {"Exception", "BaseException"}.isdisjoint(caught)


def raises_again(catch: ast.ExceptHandler) -> bool:
    last = catch.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


@pytest.mark.parametrize(
    "file", [file for file in SOURCES if "managers" in file.parts], ids=lambda file: str(file.relative_to(ROOT))
)
def test_no_manager_decides_what_may_be_reached(file):
    """
    On a person's machine inner networks are open, in a cluster they are not: the place knows, by its `policy`.
    """
    assert not re.search(r"AddressPolicy(?:\.of)?\(|\bBorders\(", file.read_text()), (
        "ask `place.policy(spec.network.allow)`"
    )


@of_each_source
def test_a_file_holds_one_noun(file):
    assert len(lines_of(file)) <= LONGEST, "what are the two nouns in this file?"


@of_each_source
def test_a_name_says_what_is_inside(file):
    assert NAMES_THAT_SAY_NOTHING.isdisjoint(file.relative_to(ROOT).with_suffix("").parts)
    assert not file.stem.endswith("_impl")


@of_each_source
def test_a_file_says_what_it_is_for(file):
    assert not file.read_text() or ast.get_docstring(ast.parse(file.read_text()))


@pytest.mark.parametrize("file", TESTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_skips_go_through_needs(file):
    """
    Only `tests.needs` knows that a skip in CI is a failure.
    """
    skips = re.findall(r"pytest\.(?:importorskip|skip\(|mark\.skip)", file.read_text())

    assert not skips or file.name in {"needs.py", Path(__file__).name}


@needs("git and a checkout", (ROOT / ".git").exists, hint="run the tests in a clone")
@pytest.mark.parametrize("what", NOT_IN_GIT)
def test_nothing_of_a_machine_is_committed(what):
    pattern = re.compile(NOT_IN_GIT[what])
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for file in tracked()
        for number, line in enumerate(lines_of(file), start=1)
        if pattern.search(line)
    ]

    assert not found


@needs("git and a checkout", (ROOT / ".git").exists, hint="run the tests in a clone")
def test_requirements_hold_hashes_and_no_addresses():
    files = [file for file in tracked() if file.parent.name == "requirements" and file.suffix == ".txt"]
    lines = [line for file in files for line in lines_of(file)]

    assert files
    assert not [line for line in lines if "://" in line or line.startswith("-")]
    assert all(line.endswith("\\") for line in lines if "==" in line), "a pin without a hash"
