"""
A job as LSF is asked for it: the user's fields, options and `#BSUB` lines as one submit.

Pure. What counts, from weakest to strongest: the target's options, the script's lines,
the job's options, the job's own fields.
"""

from __future__ import annotations

import math
import posixpath
import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from bascule.errors import Mistake
from bascule.managers.lsf.directives import Found, directives_in
from bascule.managers.lsf.multipart import Attachment
from bascule.managers.lsf.note import Note
from bascule.managers.lsf.options import TargetOptions, options_of_job, settings_of
from bascule.managers.lsf.requirements import requirements
from bascule.managers.lsf.wrapper import NAME, REPORT, calling, wrapped
from bascule.model import Duration, Job, JobSpec, indices_of, parts_of

LARGEST_SCRIPT = 1 << 20
_RESERVED = re.compile(r"bascule[.].*")
_FILE = re.compile(r"[A-Za-z0-9_][\w.+@-]{0,199}")
_UNSAFE = re.compile(r"['`$\\\n\r]")
_NOT_BSUB = ("walltime", "folder", "output", "error", "array", "parallelism", "description", "form", "form_parameters")


class Wanted(NamedTuple):
    """All that a job asks of LSF; *inputs* go along with it."""

    form: str
    parameters: dict[str, str]
    bsub: tuple[str, ...]
    script: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    note: Note
    inputs: tuple[Attachment, ...]

    def wrapper(self, secrets: Mapping[str, str]) -> Attachment:
        """Return the one file that runs."""
        text = wrapped(
            self.script,
            self.arguments,
            environment=self.environment,
            secrets=secrets,
            folder=self.folder,
            output=self.note.output,
            error=self.note.error,
            inputs={file.name: len(file.data) for file in self.inputs},
            is_array=bool(self.note.array),
            note=self.note.described(),
        )
        return Attachment(NAME, text.encode())

    def form_parameters(self, key: str, *, held: bool) -> dict[str, str]:
        """Return the fields of the form."""
        hold = ("-H",) if held else ()
        return {
            **self.parameters,
            "JOB_NAME": self.parameters["JOB_NAME"].replace("KEY", key, 1),
            "EXTRA_PARAMS": " ".join((*hold, *self.bsub)),
        }


def wanted_by(job: Job, defaults: TargetOptions, *, key: str) -> Wanted:
    """Return what *job* asks for; raise `Mistake` with all that cannot be had."""
    spec = job.spec
    script, arguments = _script(job)
    found = directives_in(script) if spec.run is not None and spec.run.script is not None else Found({})
    settings = _merged(settings_of(defaults), found.settings, settings_of(options_of_job(job)), _fields(spec))
    problems = [*found.problems, *_problems(spec, settings)]
    if problems:
        raise Mistake(f"job `{job.name}` cannot go to LSF: {'; '.join(problems)}", problems=tuple(problems))
    array = settings.get("array", "")
    folder = spec.working_directory or settings.get("folder", "")
    walltime = settings.get("walltime")
    limit = minutes_of(walltime) if walltime is not None else None
    note = _note(job, settings, folder=folder, key=key, limit=limit)
    parallel = f"%{settings['parallelism']}" if settings.get("parallelism") else ""
    parameters = {
        **settings.get("form_parameters", {}),
        "JOB_NAME": f"KEY[{array}]{parallel}" if array else "KEY",
        "COMMANDTORUN": f"/bin/sh ./{NAME}",
        # LSF's own report; what the script prints goes where the wrapper puts it.
        "OUTPUT_FILE": f"{REPORT}.%I" if array else REPORT,
    }
    if queue := settings.get("q"):
        parameters["QUEUE"] = str(queue)
    if limit is not None:
        parameters |= {"RUNLIMITHOUR": str(limit // 60), "RUNLIMITMINUTE": str(limit % 60)}
    described = note.described(settings.get("description", ""))
    return Wanted(
        form=settings.get("form", "generic"),
        parameters=parameters,
        bsub=(*_bsub(settings), *requirements(spec.resources), "-Jd", shlex.quote(described)),
        script=script,
        arguments=arguments,
        environment=dict(spec.env),
        folder=folder,
        note=note,
        inputs=tuple(Attachment(each.path, (each.content or "").encode()) for each in spec.files.inputs),
    )


def minutes_of(walltime: object) -> int:
    """Return a walltime in LSF's whole minutes, rounded up."""
    span = Duration.parse(walltime) if isinstance(walltime, str) else walltime
    seconds = span.total_seconds() if isinstance(span, Duration) else float(str(walltime))
    return max(1, math.ceil(seconds / 60))


def _script(job: Job) -> tuple[str, tuple[str, ...]]:
    run, arguments = job.spec.run, job.spec.arguments
    if run is None or (run.program is not None or run.payload is not None):
        raise Mistake(
            f"job `{job.name}` has nothing that LSF can run",
            hint="give `run.script`, `run.scriptPath` or `run.command`",
        )
    if run.command is not None:
        return calling([*run.command, *arguments]), ()
    if run.script_path is not None:
        return calling([run.script_path, *arguments]), ()
    script = run.script or ""
    if not script.startswith("#!"):
        raise Mistake(
            f"job `{job.name}`: the script does not begin with `#!`, so nobody knows what runs it",
            hint="let its first line be `#!/bin/bash`",
        )
    if "\0" in script or len(script.encode()) > LARGEST_SCRIPT:
        raise Mistake(f"job `{job.name}`: the script is too long, or holds a zero byte", hint="let it call a file")
    return script, arguments


def _problems(spec: JobSpec, settings: Mapping[str, Any]) -> list[str]:
    problems = []
    if spec.files.outputs:
        problems.append(
            "`files.outputs`: this manager brings no results; read them with `logs`, or let the script do it"
        )
    for each in spec.files.inputs:
        if each.content is None:
            problems.append(f"`files.inputs`: `{each.path}` has no `content`, and this manager can bring nothing else")
        elif not _FILE.fullmatch(each.path) or _RESERVED.fullmatch(each.path):
            problems.append(
                f"`files.inputs`: `{each.path}` must be a plain name in the job's folder, of letters, digits and `_.+@-`"
            )
    array = settings.get("array", "")
    if array and min(indices_of(array), default=0) < 1:
        problems.append(f"`array.indices`: `{array}` begins below 1, and LSF counts from 1")
    for name, value in settings.items():
        texts = value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]
        if name not in {"output", "error", "folder"} and any(_UNSAFE.search(str(text)) for text in texts):
            problems.append(
                f"`{value}` holds a quote, a `$`, a backslash or a line break, which Application Center's form would not carry"
            )
    for name in ("output", "error", "folder"):
        value = spec.working_directory if name == "folder" else getattr(spec, name)
        if value is not None and re.search(r"[\n\r,|*?\[]", value):
            problems.append(f"`{value}` holds a letter that Application Center reads as more than a name")
    return problems


def _merged(*layers: dict[str, Any]) -> dict[str, Any]:
    """Lay *layers* over each other."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for one, other in (("r", "rn"), ("rn", "r")):
            if one in layer:
                merged.pop(other, None)
        if "n" in layer and layer["n"] is None:
            merged.pop("n", None)
        merged.update({name: value for name, value in layer.items() if value is not None})
    return merged


def _fields(spec: JobSpec) -> dict[str, Any]:
    """Return the job's own fields as settings; a number of tasks there makes bsub's `-n` moot."""
    resources, array = spec.resources, spec.array
    fields: dict[str, Any] = {
        "walltime": resources.walltime,
        "array": array.indices if array else None,
        "parallelism": array.parallelism if array else None,
        "output": spec.output,
        "error": spec.error,
    }
    fields = {name: value for name, value in fields.items() if value is not None}
    if resources.nodes or resources.tasks or resources.cpus_per_task:
        fields["n"] = None
    return fields


def _note(job: Job, settings: Mapping[str, Any], *, folder: str, key: str, limit: int | None) -> Note:
    array = settings.get("array", "")
    name = f"{job.name}_%I" if array else job.name
    if (parts := parts_of(key)) is not None and parts.attempt > 1:
        name += f".{parts.attempt}"  # what an earlier attempt has written stays
    output, error = settings.get("output") or f"{name}.out", settings.get("error") or f"{name}.err"
    if folder:
        output, error = posixpath.join(folder, output), posixpath.join(folder, error)
    return Note(output, error, array, (limit or 0) * 60)


def _bsub(settings: Mapping[str, Any]) -> list[str]:
    """Return bsub's options as words, each quoted for a shell."""
    words: list[str] = []
    for name, value in settings.items():
        if name in _NOT_BSUB or name == "q" or value is False:
            continue
        if value is True:
            words.append(f"-{name}")
            continue
        if name == "We":
            value = minutes_of(value)  # noqa: PLW2901 - the same value in bsub's form
        for text in value if isinstance(value, list) else [value]:
            words += [f"-{name}", shlex.quote(str(text))]
    return words
