"""
From the core's order to the one that is kept: what will run, where, with what around it.

The job gets the environment, the umask and, unless it names one, a working directory as
whoever submits it has them, as people know it from ``sbatch``. The environment may hold
secrets; it lies in a file of this user only, and is removed when the job is over.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from bascule.errors import Mistake
from bascule.failpoints import VARIABLE as FAILPOINT
from bascule.managers.local.options import JobOptions
from bascule.managers.local.processes import MARKER, signal_number
from bascule.managers.local.records import Capacity, Order
from bascule.managers.local.submitters import Submitter
from bascule.managers.local.tasks import COUNT, INDEX, bad_pattern, filled, is_of_each
from bascule.model import Job, indices_of, parts_of
from bascule.ports import Order as Wanted

KEY = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_LONGEST_FILE_NAME = 255
_LARGEST_INDEX = 4_000_000
MOST_TASKS = 10_000
"""Tasks of one array: each has a folder of its own."""
_NOT_INHERITED = {
    name.encode()
    for name in (
        FAILPOINT,
        MARKER,
        "BASCULE_KEY",
        "BASCULE_JOB",
        "BASCULE_ATTEMPT",
        INDEX,
        COUNT,
        "OLDPWD",
        "SHLVL",
        "_",
    )
}


def check_job(job: Job) -> None:
    """Raise `Mistake` for what this manager cannot do."""
    spec, run = job.spec, job.spec.run
    wrong = []
    if spec.array is not None and len(indices_of(spec.array.indices)) > MOST_TASKS:
        wrong.append(f"array.indices: `local` runs at most {MOST_TASKS:,} tasks of one job; use several jobs")
    if spec.adopt is not None:
        wrong.append("adopt: `local` runs only what was submitted to it; there is nothing to adopt")
    elif run is None or (run.script is None and run.script_path is None and run.command is None):
        wrong.append("run: `local` takes `script`, `scriptPath` or `command`")
    elif run.command is not None and (not run.command or not run.command[0]):
        wrong.append("run.command: names no program")
    elif run.script_path is not None and not run.script_path.startswith("/"):
        wrong.append("run.scriptPath: must be absolute")
    if spec.working_directory is not None and not spec.working_directory.startswith("/"):
        wrong.append("workingDirectory: must be absolute")
    for field, path in (("output", spec.output), ("error", spec.error)):
        is_array = spec.array is not None
        if bad := bad_pattern(path or "", is_array=is_array):
            more = "`%a` (index), `%A` (id of the whole), " if is_array else ""
            wrong.append(f"{field}: `{bad}` means nothing here; there are `%x` (name), `%j` (id), {more}and `%%`")
        if path is not None and is_array and not is_of_each(path):
            wrong.append(f"{field}: all tasks would write to `{path}`; put `%a`, the index, into its name")
    if spec.files.inputs or spec.files.outputs:
        wrong.append("files: `local` stages no files yet; the job sees this machine's own")
    if spec.resources.nodes is not None and spec.resources.nodes > 1:
        wrong.append(f"resources.nodes: `local` is one machine, not {spec.resources.nodes}")
    if spec.resources.gpus_per_node is not None and spec.resources.gpus_per_node.type is not None:
        wrong.append("resources.gpusPerNode.type: `local` cannot choose a type")
    if spec.signal is not None:
        check_signal(spec.signal.name)
    if wrong:
        raise Mistake(f"`local` cannot run job `{job.name}`: {'; '.join(wrong)}", problems=tuple(wrong))


def check_signal(name: str) -> None:
    """Raise `Mistake` where there is no such signal."""
    try:
        signal_number(name)
    except KeyError:
        raise Mistake(f"there is no signal `{name}`", hint="there are USR1, TERM, INT, ...") from None


def need_of(job: Job) -> Capacity:
    """Return what *job* needs of the machine; one cpu where it does not say."""
    asked = job.spec.resources
    return Capacity(
        cpus=(asked.tasks or 1) * (asked.cpus_per_task or 1),
        memory=int(asked.memory_per_node) if asked.memory_per_node is not None else 0,
        gpus=asked.gpus_per_node.count if asked.gpus_per_node is not None else 0,
    )


def order_for(wanted: Wanted, folder: Path, options: JobOptions, submitter: Submitter) -> Order:
    """Return the order of *submitter* to be kept in *folder*."""
    job, key = wanted.job, wanted.key
    spec = job.spec
    workdir = spec.working_directory or str(folder / "work")
    files = {
        "output": _file(job, key, workdir, spec.output, "out"),
        "error": _file(job, key, workdir, spec.error, "err"),
    }
    named = {"output": spec.output, "error": spec.error}
    again = _attempt(job, key) > 1
    warn = spec.signal
    return Order(
        key=key,
        name=job.name,
        at=time.time(),
        need=need_of(job),
        workdir=workdir,
        output=files["output"],
        error=files["error"],
        walltime=None if spec.resources.walltime is None else spec.resources.walltime.total_seconds(),
        warn=None if warn is None else (warn.name, warn.before.total_seconds()),
        grace=options.grace.total_seconds(),
        ours=wanted.held,
        users=spec.hold and not wanted.held,
        umask=submitter.umask,
        indices=spec.array.indices if spec.array else "",
        parallelism=(spec.array.parallelism or 0) if spec.array else 0,
        appends=tuple(stream for stream, path in named.items() if again and path is not None),
        program=_program(job),
        script=None if spec.run is None or spec.run.script is None else spec.run.script.encode(),
        env=_environment(wanted, folder, workdir, submitter),
    )


def _program(job: Job) -> tuple[bytes, ...]:
    """Return the argument list; of a script, which is put into place later, only the arguments."""
    head: tuple[str, ...] = ()
    if job.spec.run is not None and job.spec.run.command is not None:
        head = job.spec.run.command
    elif job.spec.run is not None and job.spec.run.script_path is not None:
        head = (job.spec.run.script_path,)
    return tuple(map(os.fsencode, (*head, *job.spec.arguments)))


def _environment(wanted: Wanted, folder: Path, workdir: str, submitter: Submitter) -> dict[bytes, bytes]:
    spec = wanted.job.spec
    ours = {
        MARKER: str(folder),
        "BASCULE_KEY": wanted.key,
        "BASCULE_JOB": wanted.job.name,
        "BASCULE_ATTEMPT": str(_attempt(wanted.job, wanted.key)),
    }
    inherited = {name: value for name, value in submitter.environment.items() if name not in _NOT_INHERITED}
    added = {"PWD": workdir, **spec.env, **wanted.secret_env, **ours}
    return inherited | {os.fsencode(name): os.fsencode(value) for name, value in added.items()}


def _attempt(job: Job, key: str) -> int:
    parts = parts_of(key)
    return parts.attempt if parts else job.status.attempt or 1


def _file(job: Job, key: str, workdir: str, wanted: str | None, ending: str) -> str:
    """Return where a job writes to; of an array, a pattern."""
    attempt = _attempt(job, key)
    if attempt > 1:
        ending = f"{attempt}.{ending}"  # what an earlier attempt has written stays
    is_array = job.spec.array is not None
    name = wanted or f"{job.name.replace('%', '%%')}{'_%a' if is_array else ''}.{ending}"
    if wanted is None and len(os.fsencode(name)) > _LONGEST_FILE_NAME - len(str(_LARGEST_INDEX)):
        name = f"{'%j' if is_array else key}.{ending}"
    folder = workdir.replace("%", "%%")
    path = str(Path(folder, name))
    return path if is_array else filled(path, name=job.name, key=key)
