"""
A job as Ray is asked for it: an entrypoint, which is a line for `sh`, and what it needs.

The line ends in `exec`, so that what Ray watches is the job's own process: the shell's would
turn death by a signal into an exit code.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from bascule.errors import Mistake
from bascule.managers.ray.head import is_id
from bascule.managers.ray.options import JobOptions, TargetOptions, merged, options_of_job
from bascule.managers.ray.package import OURS, SCRIPT, SECRETS, Package, package_of
from bascule.managers.ray.wire import KEY
from bascule.model import Job, parts_of

LONGEST_LINE = 128 * 1024 - 1
"""What Linux takes as one argument, which the line is to `sh -c`."""
SELECTS_FROM = (2, 49)
"""The release from which on a job may say which nodes it wants."""


def check_job(job: Job, defaults: TargetOptions) -> None:
    """Raise `Mistake` with all that *job* asks for and Ray cannot do."""
    if job.spec.adopt is not None:
        if not is_id(job.spec.adopt.id):
            raise Mistake(f"job `{job.name}`: `{job.spec.adopt.id}` is no id of a job of Ray")
        return
    options = merged(defaults, options_of_job(job))
    problems = [f"`{field}`: {why}" for field, why in _refused(job, options).items()]
    if problems:
        raise Mistake(f"Ray cannot take job `{job.name}`: {'; '.join(problems)}", problems=tuple(problems))
    package_of(job, {})
    if len(entrypoint_of(job, has_secrets=False).encode()) > LONGEST_LINE:
        raise Mistake(f"the command of job `{job.name}` is too long for Ray", hint="put it into a script")


def body_of(
    job: Job, defaults: TargetOptions, *, key: str, package: Package | None, has_secrets: bool
) -> dict[str, object]:
    """Return the body of a submit."""
    spec, options = job.spec, merged(defaults, options_of_job(job))
    parts = parts_of(key)
    ours = {"BASCULE_KEY": key, "BASCULE_JOB": job.name, "BASCULE_ATTEMPT": str(parts.attempt if parts else 1)}
    runtime_env: dict[str, object] = {**(options.runtime_env or {}), "env_vars": {**spec.env, **ours}}
    if package is not None:
        runtime_env["working_dir"] = package.uri
    gpus = spec.resources.gpus_per_node
    custom = dict(options.resources or {})
    if gpus is not None and gpus.type is not None:
        custom[f"accelerator_type:{gpus.type}"] = 0.001
    memory = spec.resources.memory_per_node
    wanted: dict[str, object] = {
        "entrypoint_num_cpus": spec.resources.cpus_per_task or options.cpus,
        "entrypoint_num_gpus": gpus.count if gpus is not None else options.gpus,
        "entrypoint_memory": int(memory) if memory is not None else None,
        "entrypoint_resources": custom,
        "entrypoint_label_selector": options.label_selector,
    }
    return {
        "submission_id": key,
        "entrypoint": entrypoint_of(job, has_secrets=has_secrets),
        "runtime_env": runtime_env,
        "metadata": {"job_name": job.name, **(options.metadata or {}), KEY: key},
        **{name: value for name, value in wanted.items() if value},
    }


def entrypoint_of(job: Job, *, has_secrets: bool) -> str:
    """Return the line that starts *job*."""
    spec = job.spec
    run = spec.run
    steps = [f". ./{SECRETS}"] if has_secrets else []
    program = shlex.join((*(run.command or (run.script_path or "",)), *spec.arguments)) if run else ""
    if run is not None and run.script is not None:
        brought = '"$PWD"' if spec.working_directory is None else '"$OLDPWD"'
        program = " ".join([f"{brought}/{SCRIPT}", *([shlex.join(spec.arguments)] if spec.arguments else [])])
    if spec.working_directory is not None:
        steps.append(f"cd -- {shlex.quote(spec.working_directory)}")
    return " && ".join([*steps, f"exec {program}"])


def needs_selector(body: Mapping[str, object]) -> bool:
    """Tell whether *body* has a field that a head before `SELECTS_FROM` would refuse."""
    return "entrypoint_label_selector" in body


def selects(version: str) -> bool:
    """Tell whether a head of *version* knows which nodes a job wants; one of a strange version is believed to."""
    parts = version.split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return True
    return (int(parts[0]), int(parts[1])) >= SELECTS_FROM


def _refused(job: Job, options: JobOptions) -> dict[str, str]:
    """Return what cannot be done, by its field."""
    spec = job.spec
    brings = bool(spec.files.inputs or spec.secret_env or (spec.run and spec.run.script is not None))
    found = {
        "run": "Ray runs commands and scripts only" if spec.run and (spec.run.program or spec.run.payload) else "",
        "array": "Ray has no arrays" if spec.array else "",
        "hold": "Ray cannot hold a job" if spec.hold else "",
        "signal": "Ray sends no signals" if spec.signal else "",
        "output": _ONE_LOG if spec.output else "",
        "error": _ONE_LOG if spec.error else "",
        "resources.nodes": _OF_ONE if (spec.resources.nodes or 1) > 1 else "",
        "resources.tasks": _OF_ONE if (spec.resources.tasks or 1) > 1 else "",
        "files.outputs": "nothing is brought home from Ray" if spec.files.outputs else "",
        "options.cpus": "`resources.cpusPerTask` says it already" if _both(job, "cpus") else "",
        "options.gpus": "`resources.gpusPerNode` says it already" if _both(job, "gpus") else "",
    }
    for number, each in enumerate(spec.files.inputs):
        if each.content is None:
            found[f"files.inputs[{number}]"] = "only `content` can be brought along yet"
        elif each.path == OURS or each.path.startswith(f"{OURS}/"):
            found[f"files.inputs[{number}].path"] = f"`{OURS}` is taken"
    if brings and "working_dir" in (options.runtime_env or {}):
        found["options.runtimeEnv.working_dir"] = (
            "the job brings a working directory of its own (script, files, secrets)"
        )
    return {field: why for field, why in found.items() if why}


def _both(job: Job, name: str) -> bool:
    field = {"cpus": job.spec.resources.cpus_per_task, "gpus": job.spec.resources.gpus_per_node}[name]
    return name in job.spec.options and field is not None


_ONE_LOG = "Ray keeps one log for a job, and puts it where it wants"
_OF_ONE = "a job of Ray is one process, which asks the cluster for more by itself"
