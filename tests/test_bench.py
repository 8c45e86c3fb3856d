"""The benchmarks run. What they measure is no matter of tests: `make bench` measures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.figure import GOALS, Figure, Result, meets
from bench.page import svg, write

ROOT = Path(__file__).parents[1]


def test_more_and_less_are_told_apart():
    more, less = GOALS[0], GOALS[2]

    assert meets(more, Figure(more.name, (0.8,)), more.least)
    assert not meets(more, Figure(more.name, (0.79,)), more.least)
    assert meets(less, Figure(less.name, (1.2,)), less.least)
    assert not meets(less, Figure(less.name, (1.21,)), less.least)


def test_a_page_with_every_figure(tmp_path):
    machine = {"processor": "p", "memory": "m", "system": "s", "load": "1.0", "day": "2026-01-01"}
    results = {goal.name: Result(Figure(goal.name, goal.aim, {"part": 1.0}), machine) for goal in GOALS}
    again = {name: Result.read(json.loads(json.dumps(result.plain()))) for name, result in results.items()}

    write(tmp_path / "page.md", again)

    assert len(GOALS) == (tmp_path / "page.md").read_text().count("aim reached")
    assert svg(again).count("<rect") == 1 + sum(len(goal.aim) for goal in GOALS)


@pytest.mark.real
@pytest.mark.root
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_all_of_it_runs_with_sizes_that_mean_nothing(slurm_2605, tmp_path):
    figures, page = tmp_path / "figures.json", tmp_path / "page.md"

    command = [sys.executable, "-m", "bench", "--tiny", "--figures", figures, "--page", page]
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env={"PYTHONPATH": "src:.", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
        text=True,
        capture_output=True,
    )

    assert ran.returncode in {0, 1}, ran.stderr
    assert {goal.name for goal in GOALS} == set(json.loads(figures.read_text())), ran.stderr
    assert page.exists()
