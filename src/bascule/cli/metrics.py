"""What a driver tells of itself, in the text form that Prometheus reads; no job's name is ever a label."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from bascule.cli.get import LIVE
from bascule.cli.version import version
from bascule.runner import Runner

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
COUNT_AGAIN = 15.0
"""Seconds for which a count of the jobs is told again: a home may hold very many."""

Sample = tuple[Mapping[str, str], float]


class Metric(NamedTuple):
    """One metric with its samples."""

    name: str
    kind: str
    what: str
    samples: tuple[Sample, ...]


class Driving(Protocol):
    """Whoever keeps jobs moving, or will."""

    @property
    def runner(self) -> Runner | None:
        """Return what moves them; None while another process does."""


class Metrics:
    """Tells how *driving* does; *count* counts its jobs by phase."""

    def __init__(self, driving: Driving, count: Callable[[], Awaitable[Counter[str]]]) -> None:
        self._driving = driving
        self._count = count
        self._began = time.time()
        self._counted_at = float("-inf")
        self._counts: Counter[str] = Counter()

    async def text(self) -> str:
        """Return all metrics as they are now."""
        if time.monotonic() - self._counted_at > COUNT_AGAIN:
            self._counts = await self._count()
            self._counted_at = time.monotonic()
        return written([*self._of_home(), *self._of_targets(), *self._of_process()])

    def _of_home(self) -> Iterable[Metric]:
        yield Metric("bascule_info", "gauge", "The version that runs.", (({"version": version()}, 1),))
        yield Metric(
            "bascule_driving", "gauge", "1 where this process drives.", (({}, self._driving.runner is not None),)
        )
        jobs = tuple(({"phase": phase}, float(self._counts[phase])) for phase in LIVE)
        yield Metric("bascule_jobs", "gauge", "Jobs that are not over, by phase.", jobs)

    def _of_targets(self) -> Iterable[Metric]:
        runner = self._driving.runner
        connections = runner.connections.all() if runner is not None else []
        now = time.monotonic()
        reachable, watched, polls, silent = [], [], [], []
        for connection in connections:
            labels = {"target": str(connection.target.ref)}
            if connection.reachable is not None:
                reachable.append((labels, float(connection.reachable)))
            watched.append((labels, float(len(connection.monitor))))
            polls.append((labels, float(connection.monitor.polls)))
            if connection.monitor.answered_at is not None:
                silent.append((labels, max(now - connection.monitor.answered_at, 0.0)))
        yield Metric("bascule_target_reachable", "gauge", "1 where the target answers.", tuple(reachable))
        yield Metric("bascule_target_jobs_watched", "gauge", "Jobs watched at the target.", tuple(watched))
        yield Metric("bascule_target_polls_total", "counter", "Times its jobs were asked for.", tuple(polls))
        yield Metric("bascule_target_silence_seconds", "gauge", "Time since it answered last.", tuple(silent))

    def _of_process(self) -> Iterable[Metric]:
        yield Metric("process_start_time_seconds", "gauge", "When this process began.", (({}, self._began),))
        yield Metric("process_cpu_seconds_total", "counter", "Processor time used.", (({}, time.process_time()),))
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        memory = float(int(pages) * os.sysconf("SC_PAGE_SIZE"))
        yield Metric("process_resident_memory_bytes", "gauge", "Memory in use.", (({}, memory),))


def written(metrics: Iterable[Metric]) -> str:
    """Return *metrics* in the text form."""
    lines = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.what}", f"# TYPE {metric.name} {metric.kind}"]
        for labels, value in metric.samples:
            inner = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            lines.append(f"{metric.name}{{{inner}}} {float(value)!r}" if inner else f"{metric.name} {float(value)!r}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
