"""
A job as Slurm is asked for it: the user's fields, options and `#SBATCH` lines as one submit.

Pure. What counts, from weakest to strongest: the target's options, the script's lines,
the job's options, the job's own fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from bascule.errors import Mistake
from bascule.managers.slurm.directives import Found, directives_in
from bascule.managers.slurm.fields import encoded, minutes
from bascule.managers.slurm.indices import indices_in
from bascule.managers.slurm.note import Note, comment_of
from bascule.managers.slurm.options import TargetOptions, options_of_job, settings_of
from bascule.managers.slurm.patterns import in_folder
from bascule.managers.slurm.versions import Shape
from bascule.managers.slurm.wrapper import calling, wrapped
from bascule.model import Job, JobSpec, Resources, parts_of

PATH = "/usr/local/bin:/usr/bin:/bin"
MARKS = ".bascule"
LARGEST_SCRIPT = 3 << 20
"""slurmctld takes 4 MiB (`max_script_size`), and the wrapper needs some of it."""
_SHARING = ("exclusive", "oversubscribe")
_MEMORY = ("memory_per_node", "memory_per_cpu", "memory_per_gpu")
_NODES = ("nodes", "minimum_nodes", "maximum_nodes")
_ALTERNATIVES = (_SHARING, _MEMORY, _NODES, ("gres", "gpus"))


class Wanted(NamedTuple):
    """All that a job asks of Slurm, whatever the version."""

    settings: dict[str, Any]
    script: str
    arguments: tuple[str, ...]
    folder: str
    output: str
    error: str
    array: str
    login: bool
    warning: tuple[str, int, str] | None
    comment: str
    environment: dict[str, str]
    overridden: tuple[str, ...] = ()

    @property
    def note(self) -> Note:
        """What a handle remembers of it."""
        return Note(self.folder, self.output, self.error, self.array.partition("%")[0])


def wanted_by(job: Job, defaults: TargetOptions, *, key: str, root: str | None) -> Wanted:
    """Return what *job* asks for; raise `Mistake` with all that cannot be had."""
    spec = job.spec
    script, arguments = _script(job)
    found = directives_in(script) if spec.run is not None and spec.run.script is not None else Found({})
    _refuse(job, found)
    settings = _merged(settings_of(defaults), found.settings, settings_of(options_of_job(job)), _fields(spec))
    folder = spec.working_directory or settings.pop("folder", None)
    settings.pop("folder", None)
    if folder is None and root is not None:
        folder = in_folder(root, key)
    if folder is None or not folder.startswith("/"):
        raise Mistake(
            f"job `{job.name}` needs an absolute `workingDirectory` on the cluster",
            hint="give one, or let the target's owner name a shared folder as `files.root`",
        )
    array = settings.pop("array", "")
    name = f"{job.name}_%a" if array else job.name
    if (parts := parts_of(key)) is not None and parts.attempt > 1:
        name += f".{parts.attempt}"  # what an earlier attempt has written stays
    output = spec.output or settings.pop("output", None) or f"{name}.out"
    error = spec.error or settings.pop("error", None) or f"{name}.err"
    for taken in ("output", "error"):
        settings.pop(taken, None)
    warning = settings.pop("warning", None)
    if spec.signal is not None:
        warning = (spec.signal.name.removeprefix("SIG"), int(spec.signal.before.total_seconds()), "FULL_JOB")
    return Wanted(
        settings=_nodes_joined(settings),
        script=script,
        arguments=arguments,
        folder=folder,
        output=in_folder(folder, output),
        error=in_folder(folder, error),
        array=array,
        login=bool(settings.pop("login_shell", False)),
        warning=warning,
        comment=settings.pop("comment", ""),
        environment={"PATH": PATH, **spec.env},
        overridden=found.overridden,
    )


def submission(
    wanted: Wanted,
    shape: Shape,
    *,
    key: str,
    held: bool,
    secrets: Mapping[str, str],
    marks: str,
    now: datetime,
) -> dict[str, object]:
    """Return the body of a submit; *marks* is the folder for a marker, where one is needed."""
    job: dict[str, object] = encoded(wanted.settings, shape, now)
    script, arguments = wanted.script, wanted.arguments
    if marks or wanted.login or (arguments and not shape.takes_arguments):
        walltime = wanted.settings.get("walltime")
        limit = minutes(walltime, now) if walltime is not None else None
        script = wrapped(
            script,
            arguments,
            login=wanted.login,
            marks=marks,
            walltime=limit * 60 if isinstance(limit, int) else None,
        )
        arguments = ()
    environment = {**wanted.environment, **secrets}
    job |= {
        "name": key,
        "comment": comment_of(key, wanted.array, wanted.comment),
        "current_working_directory": wanted.folder,
        "standard_output": wanted.output,
        "standard_error": wanted.error,
        "environment": environment if shape.old else [f"{name}={value}" for name, value in environment.items()],
    }
    if held:
        job["hold"] = True  # never `priority: 0`, which 22.05 refuses
    if wanted.array:
        job["array"] = wanted.array
    if arguments:
        job["argv"] = [key, *arguments]
    if wanted.warning is not None:
        _warn(job, wanted.warning, shape)
    return {"script": script, "job": job}


def marks_in(root: str, key: str) -> str:
    """Return the folder where a job's marker lies."""
    return in_folder(root, f"{MARKS}/{key}")


def _script(job: Job) -> tuple[str, tuple[str, ...]]:
    run, arguments = job.spec.run, job.spec.arguments
    if run is None or (run.program is not None or run.payload is not None):
        raise Mistake(
            f"job `{job.name}` has nothing that Slurm can run",
            hint="give `run.script`, `run.scriptPath` or `run.command`",
        )
    if run.command is not None:
        return calling([*run.command, *arguments]), ()
    if run.script_path is not None:
        return calling([run.script_path, *arguments]), ()
    script = run.script or ""
    if not script.startswith("#!"):
        raise Mistake(
            f"job `{job.name}`: the script does not begin with `#!`, and Slurm would not know what runs it",
            hint="let its first line be `#!/bin/bash`",
        )
    if "\0" in script or len(script.encode()) > LARGEST_SCRIPT:
        raise Mistake(f"job `{job.name}`: the script is too long, or holds a zero byte", hint="let it call a file")
    return script, arguments


def _refuse(job: Job, found: Found) -> None:
    problems = [f"#SBATCH {problem}" for problem in found.problems]
    if job.spec.files.inputs or job.spec.files.outputs:
        problems.append("`files`: this manager cannot stage files; let the script bring them")
    if job.spec.array is not None and not indices_in(job.spec.array.indices):
        problems.append(f"`array.indices`: `{job.spec.array.indices}` holds no index")
    if problems:
        raise Mistake(f"job `{job.name}` cannot go to Slurm: {'; '.join(problems)}", problems=tuple(problems))


def _merged(*layers: dict[str, Any]) -> dict[str, Any]:
    """Lay *layers* over each other; of settings that exclude each other, the upper layer's stay."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for group in _ALTERNATIVES:
            if any(name in layer for name in group):
                for name in group:
                    merged.pop(name, None)
        merged.update(layer)
    return merged


def _fields(spec: JobSpec) -> dict[str, Any]:
    """Return the job's own fields as settings."""
    resources: Resources = spec.resources
    gpus = resources.gpus_per_node
    array = spec.array
    parallel = f"%{array.parallelism}" if array is not None and array.parallelism else ""
    fields = {
        "nodes": str(resources.nodes) if resources.nodes else None,
        "tasks": resources.tasks,
        "cpus_per_task": resources.cpus_per_task,
        "memory_per_node": str(resources.memory_per_node) if resources.memory_per_node else None,
        "gres": ":".join(part for part in ("gpu", gpus.type, str(gpus.count)) if part) if gpus and gpus.count else None,
        "walltime": resources.walltime,
        "array": f"{array.indices}{parallel}" if array else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _nodes_joined(settings: dict[str, Any]) -> dict[str, Any]:
    least, most = settings.pop("minimum_nodes", None), settings.pop("maximum_nodes", None)
    if least is not None or most is not None:
        settings["nodes"] = f"{least or 1}-{most}" if most is not None else f"{least}"
    return settings


def _warn(job: dict[str, object], warning: tuple[str, int, str], shape: Shape) -> None:
    name, seconds, to = warning
    if shape.warns:
        job["kill_warning_signal"] = name
        job["kill_warning_delay"] = {"set": True, "infinite": False, "number": min(seconds, 65_535)}
        if to:
            job["kill_warning_flags"] = [to]
    elif not to:
        job["signal"] = f"{name}@{seconds}"
    elif to == "BATCH_JOB":
        raise Mistake(
            f"Slurm's REST {shape.name} ({shape.since}) cannot send a warning to the script alone",
            hint="write `signal: {name: USR1, before: 5m}` in the job, then Bascule sends it",
        )
