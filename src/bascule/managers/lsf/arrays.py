"""How an array stands, from what is said of its tasks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from bascule.model import Phase, Report, Source, Tasks, text_of_indices

MOST_NODES = 64


def array_report(tasks: Mapping[int, Report], waiting: Report | None, indices: Sequence[int]) -> Report:
    """
    Return what *tasks* say of the array of *indices*; *waiting* is the line that stands for those without one.

    A task of which nothing is said is not over: the array is not, then.
    """
    finals = {index: report for index, report in tasks.items() if report.is_over}
    named = set(indices) | set(tasks)
    failed = {index for index, report in finals.items() if report.phase is Phase.FAILED}
    cancelled = {index for index, report in finals.items() if report.phase is Phase.CANCELLED}
    running = {index for index, report in tasks.items() if report.phase is Phase.RUNNING}
    if waiting is not None and waiting.phase is Phase.CANCELLED:
        cancelled |= named - set(tasks)
    counted = Tasks(
        total=len(named),
        succeeded=len(finals) - len(failed) - len(cancelled & set(finals)),
        failed=len(failed),
        cancelled=len(cancelled),
        running=len(running),
        failed_indices=text_of_indices(failed),
        indices=text_of_indices(named),
    )
    alive = [report for index, report in tasks.items() if index not in finals]
    if waiting is not None and not waiting.is_over:
        alive.append(waiting)
    if alive or counted.done < len(named):
        return _living(alive, finals, counted)
    return _over(finals, counted, failed)


def _living(alive: list[Report], finals: Mapping[int, Report], counted: Tasks) -> Report:
    odd = next((report for report in alive if report.phase is None), None)
    if odd is not None:
        return Report(None, state=odd.state, explanation=odd.explanation, tasks=counted)
    waits = next((report for report in alive if report.phase in {Phase.QUEUED, Phase.HELD}), None)
    if counted.running or finals or waits is None:
        phase = Phase.RUNNING
    elif any(report.phase is Phase.QUEUED for report in alive):
        phase = Phase.QUEUED
    else:
        phase = Phase.HELD
    everybody = [*alive, *finals.values()]
    starts = [report.started_at for report in everybody if report.started_at is not None]
    nodes = tuple(dict.fromkeys(node for report in alive for node in report.nodes))[:MOST_NODES]
    return Report(
        phase=phase,
        state=_words(alive),
        why=waits.why if waits is not None and not counted.running else "",
        explanation=counted.summary if phase is Phase.RUNNING else (waits.explanation if waits else ""),
        nodes=nodes,
        submitted_at=min((report.submitted_at for report in everybody if report.submitted_at), default=None),
        started_at=min(starts, default=None) if phase is Phase.RUNNING else None,
        tasks=counted,
    )


def _over(finals: Mapping[int, Report], counted: Tasks, failed: set[int]) -> Report:
    first = finals[min(failed)] if failed else None
    if first is not None:
        phase, reason = Phase.FAILED, first.reason
    elif counted.cancelled:
        phase, reason = Phase.CANCELLED, ""
    else:
        phase, reason = Phase.SUCCEEDED, ""
    reports = list(finals.values())
    sources = {report.source for report in reports}
    return Report(
        phase=phase,
        state=_words(reports) or "EXIT",
        reason=reason,
        explanation=f"{counted.summary}; task {min(failed)}: {first.explanation}" if first else counted.summary,
        exit_code=first.exit_code if first is not None else (0 if phase is Phase.SUCCEEDED else None),
        signal=first.signal if first is not None else None,
        submitted_at=min((report.submitted_at for report in reports if report.submitted_at), default=None),
        started_at=min((report.started_at for report in reports if report.started_at), default=None),
        finished_at=max((report.finished_at for report in reports if report.finished_at), default=None),
        source=Source.LIVE if Source.LIVE in sources or not sources else sources.pop(),
        tasks=counted,
    )


def _words(reports: list[Report]) -> str:
    """LSF's words, the most frequent first."""
    return ",".join(word for word, _ in Counter(report.state for report in reports).most_common(3))
