"""Plots of the figures, as SVG that is written here: bars, and a text beside each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from bench.figure import GOALS, Goal, Result

WIDTH, LEFT, ROW, TOP = 860, 330, 30, 46
OURS, THEIRS, BAD = "#2a7f4f", "#9aa7b4", "#b03030"


class Bar(NamedTuple):
    """One bar: what it shows, how long it is, and whether it is Bascule's."""

    name: str
    value: float
    ours: bool


def plots(results: Mapping[str, Result]) -> dict[str, str]:
    """Return all plots, by the names of their files."""
    drawn = {"overview.svg": overview(results)}
    for name, (title, wanted, is_log) in SOURCES.items():
        found = [
            Bar(label, results[goal].figure.parts[part], ours)
            for goal, part, label, ours in wanted
            if goal in results and part in results[goal].figure.parts
        ]
        if found:
            drawn[name] = bars(title, found, is_log=is_log)
    return drawn


SOURCES: dict[str, tuple[str, tuple[tuple[str, str, str, bool], ...], bool]] = {
    "rates.svg": (
        "a second",
        (
            ("submit-held", "through Bascule, submits/s", "submits, held: Bascule", True),
            ("submit-held", "bare loop, submits/s", "bare loop", False),
            (
                "submit-held",
                "bare loop that looks at each job before it releases it, submits/s",
                "bare loop that looks before it releases",
                False,
            ),
            ("submit-direct", "through Bascule, submits/s", "submits, direct: Bascule", True),
            ("submit-direct", "bare loop, submits/s", "bare loop", False),
            ("history", "submits/s with 1,000,000 finished jobs", "submits beside 1,000,000 finished: Bascule", True),
            ("history", "submits/s with none", "beside none: Bascule", True),
        ),
        False,
    ),
    "accepts.svg": (
        "a second, each scale ten times the one before",
        (
            ("accepts", "accepts/s, 64 at a time", "durable accepts, 64 at a time: Bascule", True),
            ("accepts", "accepts/s, one after the other", "one after the other: Bascule", True),
            ("accepts", "SQLite's own commits/s", "SQLite's own commits", False),
        ),
        True,
    ),
    "watching.svg": (
        "requests to the manager per job-hour, each scale ten times the one before",
        (
            ("requests", "per job-hour while nothing moves", "at rest: Bascule", True),
            (
                "requests",
                "per job-hour while 1 % end each minute and as many begin",
                "1 % end each minute: Bascule",
                True,
            ),
            (
                "requests",
                "per job-hour of a poller that asks for each job every 30 s",
                "a poller, each job every 30 s",
                False,
            ),
        ),
        True,
    ),
    "bytes.svg": (
        "bytes from the manager per job-hour, each scale ten times the one before",
        (
            ("bytes", "bytes per job-hour while nothing moves", "at rest: Bascule", True),
            ("bytes", "bytes per job-hour", "1 % end each minute: Bascule", True),
            ("bytes", "bytes per job-hour of the full list, read as often", "the full list, read as often", False),
        ),
        True,
    ),
}


def bars(title: str, shown: list[Bar], *, is_log: bool = False) -> str:
    """Return bars below each other, with their values."""
    most = max(bar.value for bar in shown)
    least = min(bar.value for bar in shown)

    def length(value: float) -> float:
        room = WIDTH - LEFT - 90
        if not is_log:
            return room * value / most
        low = math.log10(least) - 0.5
        return room * (math.log10(value) - low) / (math.log10(most) - low)

    height = TOP - 12 + ROW * len(shown)
    out = [_head(height), f'<text x="{LEFT}" y="16">{escape(title)}</text>']
    for number, bar in enumerate(shown):
        y, long = TOP - 18 + ROW * number, max(length(bar.value), 1.0)
        out.append(
            f'<text x="{LEFT - 10}" y="{y + 16}" text-anchor="end">{escape(bar.name)}</text>'
            f'<rect x="{LEFT}" y="{y + 4}" width="{long:.1f}" height="{ROW - 14}" fill="{OURS if bar.ours else THEIRS}"/>'
            f'<text x="{LEFT + long + 6:.1f}" y="{y + 16}">{number_of(bar.value)}</text>'
        )
    return "\n".join([*out, "</svg>"]) + "\n"


def overview(results: Mapping[str, Result]) -> str:
    """Return a plot: for each figure how many times better than *at least* it is, on a logarithmic scale."""
    bars = [
        (goal, part, times_better(goal, value, least), times_better(goal, aim, least))
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
        _head(height),
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
        colour = OURS if value >= 1 else BAD
        name = goal.name + (("", " (first)", " (all)")[part + 1] if len(goal.least) > 1 else "")
        out.append(
            f'<text x="{LEFT - 10}" y="{y + 16}" text-anchor="end">{name}</text>'
            f'<rect x="{start:.1f}" y="{y + 4}" width="{max(end - start, 1):.1f}" height="{ROW - 14}" fill="{colour}"/>'
            f'<path d="M{x(aim):.1f} {y + 2}v{ROW - 10}" stroke="#c78500" stroke-width="3"/>'
        )
    out.append(f'<path d="M{x(1.0):.1f} {TOP - 8}V{height - 6}" stroke="black"/></svg>')
    return "\n".join(out) + "\n"


def times_better(goal: Goal, value: float, least: float) -> float:
    return max(value / least if goal.better == "more" else least / max(value, 1e-9), 1e-3)


def number_of(value: float) -> str:
    """Return *value* in three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _head(height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>'
    )
