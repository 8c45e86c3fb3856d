"""The page of the figures: a table, plots, and what each was computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from bench.figure import GOALS, Goal, Result, meets
from bench.plot import number_of, plots

LIMITS = Path(__file__).with_name("limits.md")
"""What limits each figure, by people."""


def write(path: Path, results: Mapping[str, Result]) -> None:
    """Write the page, and its plots in a folder beside it."""
    folder = path.with_suffix("")
    folder.mkdir(exist_ok=True)
    drawn = plots(results)
    for name, plot in drawn.items():
        (folder / name).write_text(plot)
    measured = [goal for goal in GOALS if goal.name in results]
    text = [
        "# Benchmarks",
        "",
        "What Bascule costs. Each figure is a ratio or a count from one run, with its other side (*the baseline*)",
        "measured in the same run, on the same machine, in turns.",
        "",
        f"![Each figure against what it must be and what we aim at]({folder.name}/overview.svg)",
        "",
        "| figure | measured | at least | aim | |",
        "|---|---|---|---|---|",
        *(_row(goal, results[goal.name]) for goal in measured),
        "",
        *_machines(results),
        "",
        "## To repeat it",
        "",
        '```console not-run="takes half an hour, and root for the real Slurm"',
        "$ make bench                      # all rows; stopped and started again, it goes on",
        '$ make bench ROWS="table accepts" # some of them, anew',
        "```",
        "",
        "Everything that is needed is built or installed first, outside the tree. The figures go to",
        "`bench/figures.json`, and this page is made of them.",
        "",
        "## Plots",
        "",
        *(f"![{name.partition('.')[0]}]({folder.name}/{name})\n" for name in drawn if name != "overview.svg"),
        LIMITS.read_text().rstrip(),
        "",
        "## What the figures were computed from",
        "",
        *_parts(measured, results),
    ]
    path.write_text("\n".join(text).rstrip() + "\n")


def _row(goal: Goal, result: Result) -> str:
    verdict = (
        "aim reached"
        if meets(goal, result.figure, goal.aim)
        else "met"
        if meets(goal, result.figure, goal.least)
        else "**not met**"
    )
    unit = f" {goal.unit}" if goal.unit else ""
    bound = "" if goal.better == "more" else "at most "
    return (
        f"| {goal.what} | {_numbers(result.figure.values)}{unit} | {bound}{_numbers(goal.least)}{unit}"
        f" | {_numbers(goal.aim)}{unit} | {verdict} |"
    )


def _machines(results: Mapping[str, Result]) -> Iterable[str]:
    one = next(iter(results.values())).machine
    loads = [float(result.machine["load"]) for result in results.values()]
    days = sorted({result.machine["day"] for result in results.values()})
    yield f"Machine: {one['processor']}, {one['memory']}, {one['system']}; {' to '.join(dict.fromkeys([days[0], days[-1]]))}."
    yield f"Its load average during the runs was {min(loads):.0f} to {max(loads):.0f}, other people's work included."
    ahead = [goal.name for goal in GOALS if goal.name in results and results[goal.name].machine.get("ahead")]
    if ahead:
        yield f"Both sides and their servers went ahead of that work (`--ahead`) for {', '.join(ahead)}."


def _parts(goals: list[Goal], results: Mapping[str, Result]) -> Iterable[str]:
    for goal in goals:
        figure = results[goal.name].figure
        yield f"- {goal.what}{f' ({figure.remark})' if figure.remark else ''}"
        for name, value in figure.parts.items():
            yield f"    - {name}: {number_of(value)}"


def _numbers(values: Iterable[float]) -> str:
    return "; ".join(map(number_of, values))
