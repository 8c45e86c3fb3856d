"""What `describe` tells of a job and of a target: readable, aligned, and without secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from bascule.cli import output, words
from bascule.model import (
    Attempt,
    Condition,
    Event,
    Input,
    Job,
    JobSpec,
    Phase,
    Target,
    to_plain,
)

INDENT = "  "


class Page:
    """Titles, and beneath them names with values, or rows."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def __str__(self) -> str:
        """As it is printed."""
        return "\n".join(self._lines)

    def title(self, text: str) -> None:
        """Begin a part."""
        if self._lines:
            self._lines.append("")
        self._lines.append(output.coloured(text, output.BOLD))

    def facts(self, facts: Mapping[str, object]) -> None:
        """Add names with values, aligned; what has no value is left out."""
        told = {name: output.clean(str(value)) for name, value in facts.items() if value not in (None, "", (), {})}
        width = max(map(len, told), default=0)
        self._lines += [f"{INDENT}{name.ljust(width)}  {value}" for name, value in told.items()]

    def rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Add rows, aligned; the last column is as long as it is."""
        cells = [[output.clean(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        self._lines += [
            INDENT + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]


def lines_of_job(job: Job, target: Target | None, events: Sequence[Event], driver: object | None) -> Page:
    """Tell of *job*."""
    status = job.status
    page = Page()
    page.title(f"job/{job.name}")
    page.facts(
        {
            "state": words.result_of(job) if status.phase.is_final else words.state_of(job),
            "id": status.id,
            "key": status.key if status.key != status.id else "",
            "attempt": status.attempt or "",
            "tasks": status.tasks.summary if status.tasks else "",
            "failed tasks": status.tasks.failed_indices if status.tasks else "",
            "exit code": status.exit_code,
            "signal": status.signal,
            "labels": _pairs(job.labels),
            "outlook": _outlook(job, driver),
        }
    )
    page.title("work")
    page.facts(_work(job.spec, target))
    page.title("times")
    page.facts(_times(job))
    if manager := status.manager:
        page.title(f"what `{job.spec.target.name}` says")
        page.facts(
            {
                "state": manager.state,
                "reason": manager.reason,
                "nodes": ", ".join(manager.nodes),
                "restarts": manager.restarts or "",
                "expected start": words.moment(manager.expected_start),
                "seen": f"{words.moment(status.observed_at)}, {status.observed_by}" if status.observed_at else "",
            }
        )
    if status.attempts:
        page.title("earlier attempts")
        page.rows([_attempt(attempt) for attempt in status.attempts])
    if status.outputs:
        page.title("brought home")
        page.rows([(stored.path, f"{stored.bytes:,} bytes", stored.store) for stored in status.outputs])
    _conditions(page, status.conditions)
    page.title("story")
    story = [Event(job.created_at, "Accepted", "stored in this home")] if job.created_at else []
    page.rows([(words.moment(event.at), event.reason, event.message) for event in (*story, *events)])
    return page


def _outlook(job: Job, driver: object | None) -> str:
    if job.status.phase.is_final:
        return ""
    if driver is not None:
        return f"{driver} drives this home"
    return f"nobody drives this home: {words.what_moves_it(job)}"


def _work(spec: JobSpec, target: Target | None) -> dict[str, object]:
    asked = spec.resources
    gpus = asked.gpus_per_node
    return {
        "target": f"{spec.target.name} ({target.spec.manager})" if target else f"{spec.target.name} (not there)",
        "runs": _runs(spec),
        "arguments": " ".join(spec.arguments),
        "folder": spec.working_directory,
        "output": spec.output,
        "error": spec.error,
        "environment": ", ".join(sorted(spec.env)),
        "from secrets": ", ".join(f"{name} ({key.name}/{key.key})" for name, key in sorted(spec.secret_env.items())),
        "resources": ", ".join(
            f"{name} {value}"
            for name, value in (
                ("nodes", asked.nodes),
                ("tasks", asked.tasks),
                ("cpus per task", asked.cpus_per_task),
                ("memory per node", asked.memory_per_node),
                ("gpus per node", f"{gpus.count} {gpus.type or ''}".strip() if gpus else None),
            )
            if value is not None
        ),
        "walltime": asked.walltime,
        "array": _array(spec),
        "files in": ", ".join(map(_staged, spec.files.inputs)),
        "files out": ", ".join(wanted.path for wanted in spec.files.outputs),
        "after": ", ".join(f"{after.job} ({after.when})" for after in spec.after),
        "retry": f"{spec.retry.limit} times after {', '.join(spec.retry.reasons)}" if spec.retry.limit else "",
        "deadlines": _pairs(to_plain(spec.deadlines)),
        "warning": f"{spec.signal.name}, {spec.signal.before} before the walltime ends" if spec.signal else "",
        "options": _pairs(spec.options),
        "wishes": ", ".join(name for name in ("cancel", "hold", "suspend") if getattr(spec, name)),
        "adopts": spec.adopt.id if spec.adopt else "",
        "when deleted": spec.on_delete if spec.on_delete != "Cancel" else "",
        "kept for": f"{spec.ttl_after_finished} after its end" if spec.ttl_after_finished else "",
    }


def _runs(spec: JobSpec) -> str:
    run = spec.run
    if run is None:
        return ""
    if run.script is not None:
        count = len(run.script.splitlines())
        return f"a script of {count} {'line' if count == 1 else 'lines'}: {run.script.partition(chr(10))[0]}"
    if run.script_path is not None:
        return f"the script {run.script_path}"
    if run.command is not None:
        return " ".join(run.command)
    return f"the program {run.program.id}" if run.program is not None else "a payload"


def _array(spec: JobSpec) -> str:
    if spec.array is None:
        return ""
    most = spec.array.parallelism
    return f"{spec.array.indices}, {most} at once" if most else spec.array.indices


def _staged(wanted: Input) -> str:
    return f"{wanted.path} from {wanted.store or wanted.url or 'the job itself'}"


def _times(job: Job) -> dict[str, object]:
    status = job.status
    took = words.duration_of(status, datetime.now(UTC))
    return {
        "created": words.moment(job.created_at),
        "submitted": words.moment(status.submitted_at),
        "started": words.moment(status.started_at),
        "finished": words.moment(status.finished_at),
        "ran for" if status.finished_at else "runs for": words.short(took) if took is not None else "",
        "deleted": words.moment(job.deleted_at),
    }


def _attempt(attempt: Attempt) -> tuple[str, ...]:
    reason = f" ({attempt.reason})" if attempt.reason else ""
    return (
        str(attempt.attempt),
        f"{attempt.phase}{reason}",
        attempt.id or "-",
        words.moment(attempt.started_at) or "-",
        words.moment(attempt.finished_at) or "-",
        attempt.message,
    )


def _conditions(page: Page, conditions: Sequence[Condition]) -> None:
    if conditions:
        page.title("conditions")
        page.rows(
            [
                (one.type, one.status, one.reason, words.moment(one.last_transition_time), one.message)
                for one in conditions
            ]
        )


def lines_of_target(target: Target, counts: Mapping[Phase, int]) -> Page:
    """Tell of *target*; of credentials only where they come from."""
    spec = target.spec
    credentials = to_plain(spec.credentials)
    page = Page()
    page.title(f"target/{target.name}")
    page.facts(
        {
            "manager": spec.manager,
            "version": target.status.version,
            "url": spec.url,
            "signs in by": ", ".join(name for name in credentials if name != "user"),
            "as": spec.credentials.user,
            "options": _pairs(spec.options),
            "limits": _pairs(to_plain(spec.limits)),
            "submission": spec.submission,
            "files": spec.files.root,
            "stores": ", ".join(store.name for store in spec.files.stores),
            "labels": _pairs(target.labels),
            "created": words.moment(target.created_at),
            "jobs": ", ".join(f"{counts[phase]} {phase}" for phase in Phase if phase in counts) or "none",
        }
    )
    _conditions(page, target.status.conditions)
    if not target.status.conditions:
        page.title("conditions")
        page.facts({"none yet": f"`bascule target check {target.name}` tries it"})
    return page


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
