"""The page of the figures: a table, one plot of all of them, and what each was computed from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench.figure import GOALS, Goal, Result, meets

LIMITS = Path(__file__).with_name("limits.md")
"""What limits each figure, by people."""
WIDTH, LEFT, ROW, TOP = 860, 330, 30, 46


def write(path: Path, results: Mapping[str, Result]) -> None:
    """Write the page, and its plot beside it."""
    plot = path.with_suffix(".svg")
    plot.write_text(svg(results))
    measured = [goal for goal in GOALS if goal.name in results]
    text = [
        "# Benchmarks",
        "",
        "What Bascule costs. Each figure is a ratio or a count from one run, with its other side (*the baseline*)",
        "measured in the same run, on the same machine, in turns. `make bench` measures all of them again, writes",
        "`bench/figures.json`, and makes this page of it; `python -m bench --only NAME` one of them.",
        "",
        f"![Each figure against what it must be and what we aim at]({plot.name})",
        "",
        "| figure | measured | at least | aim | |",
        "|---|---|---|---|---|",
        *(_row(goal, results[goal.name]) for goal in measured),
        "",
        *_machines(results),
        "",
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
    yield f"Its load average during the runs was {min(loads):.0f} to {max(loads):.0f}, other work included."


def _parts(goals: list[Goal], results: Mapping[str, Result]) -> Iterable[str]:
    for goal in goals:
        figure = results[goal.name].figure
        yield f"- {goal.what}{f' ({figure.remark})' if figure.remark else ''}"
        for name, value in figure.parts.items():
            yield f"    - {name}: {_number(value)}"


def svg(results: Mapping[str, Result]) -> str:
    """Return a plot: for each figure how many times better than *at least* it is, on a logarithmic scale."""
    bars = [
        (goal, part, _times_better(goal, value, least), _times_better(goal, aim, least))
        for goal in GOALS
        if goal.name in results
        for part, (value, least, aim) in enumerate(
            zip(results[goal.name].figure.values, goal.least, goal.aim, strict=True)
        )
    ]
    low = min([0.5, *(value for _, _, value, _ in bars)])
    high = max([10.0, *(max(value, aim) for _, _, value, aim in bars)]) * 1.2

    def x(times: float) -> float:
        return LEFT + (WIDTH - LEFT - 20) * (math.log(times) - math.log(low)) / (math.log(high) - math.log(low))

    height = TOP + ROW * len(bars) + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="16">times better than “at least” (black line); the mark is the aim</text>',
    ]
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    out.extend(
        f'<line x1="{x(10**power):.1f}" x2="{x(10**power):.1f}" y1="{TOP - 8}" y2="{height - 6}" stroke="#ddd"/>'
        f'<text x="{x(10**power):.1f}" y="{TOP - 12}" text-anchor="middle" fill="#555">{10**power:g}</text>'
        for power in powers
    )
    for number, (goal, part, value, aim) in enumerate(bars):
        y = TOP + ROW * number
        start, end = sorted((x(1.0), x(value)))
        colour = "#2a7f4f" if value >= 1 else "#b03030"
        name = goal.name + (("", " (first)", " (all)")[part + 1] if len(goal.least) > 1 else "")
        out.append(
            f'<text x="{LEFT - 10}" y="{y + 16}" text-anchor="end">{name}</text>'
            f'<rect x="{start:.1f}" y="{y + 4}" width="{max(end - start, 1):.1f}" height="{ROW - 14}" fill="{colour}"/>'
            f'<path d="M{x(aim):.1f} {y + 2}v{ROW - 10}" stroke="#c78500" stroke-width="3"/>'
        )
    out.append(f'<path d="M{x(1.0):.1f} {TOP - 8}V{height - 6}" stroke="black"/></svg>')
    return "\n".join(out) + "\n"


def _times_better(goal: Goal, value: float, least: float) -> float:
    return max(value / least if goal.better == "more" else least / max(value, 1e-9), 1e-3)


def _numbers(values: Iterable[float]) -> str:
    return "; ".join(map(_number, values))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
