"""The benchmarks run. What they measure is no matter of tests: `make bench` measures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import workspace as places
from bench.__main__ import MEASUREMENTS
from bench.figure import GOALS, Figure, Result, meets
from bench.page import write
from bench.plot import plots
from bench.progress import Progress

ROOT = Path(__file__).parents[1]


def test_more_and_less_are_told_apart():
    more, less = GOALS[0], GOALS[2]

    assert meets(more, Figure(more.name, (0.8,)), more.least)
    assert not meets(more, Figure(more.name, (0.79,)), more.least)
    assert meets(less, Figure(less.name, (1.2,)), less.least)
    assert not meets(less, Figure(less.name, (1.21,)), less.least)


def test_every_measurement_can_be_begun():
    assert {"submit-held", "ray", "watching"} <= set(MEASUREMENTS)


def test_a_page_with_every_figure(tmp_path):
    machine = {"processor": "p", "memory": "m", "system": "s", "load": "1.0", "day": "2026-01-01"}
    results = {goal.name: Result(Figure(goal.name, goal.aim, {"part": 1.0}), machine) for goal in GOALS}
    again = {name: Result.read(json.loads(json.dumps(result.plain()))) for name, result in results.items()}

    write(tmp_path / "page.md", again)

    assert len(GOALS) == (tmp_path / "page.md").read_text().count("aim reached")
    assert plots(again)["overview.svg"].count("<rect") == 1 + sum(len(goal.aim) for goal in GOALS)
    for link in re.findall(r"!\[.*\]\((.*)\)", (tmp_path / "page.md").read_text()):
        assert (tmp_path / link).exists()


def test_the_plots_show_both_sides_in_proportion(tmp_path):
    machine = {"processor": "p", "memory": "m", "system": "s", "load": "1.0", "day": "2026-01-01"}
    parts = {"through Bascule, submits/s": 50.0, "bare loop, submits/s": 100.0}
    results = {"submit-direct": Result(Figure("submit-direct", (0.5,), parts), machine)}

    ours, theirs = map(float, re.findall(r'<rect x="330" .*?width="([\d.]+)"', plots(results)["rates.svg"]))

    assert theirs == pytest.approx(2 * ours, rel=0.01)


def test_a_workspace_is_gone_afterwards_and_those_of_killed_runs_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "PLACE", tmp_path / "bench")
    left = tmp_path / "bench" / "of-a-killed-run"
    left.mkdir(parents=True)
    (left / places.IN_USE).touch()

    with places.workspace() as first, places.workspace() as second:
        both = first.is_dir() and second.is_dir()

    assert both
    assert [] == list((tmp_path / "bench").iterdir())


def test_a_run_that_was_stopped_goes_on_unless_the_code_is_another(tmp_path, monkeypatch):
    state = tmp_path / "build" / "bench.json"
    Progress(state).note("table")

    same = Progress(state).done
    monkeypatch.setattr("bench.progress._code", lambda: "another")

    assert ["table"] == same
    assert [] == Progress(state).done


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
