"""Plain script files, and shell commands, as jobs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bascule.errors import Mistake
from bascule.model import Job, JobSpec, Run, TargetRef
from bascule.spec.loading import validated
from bascule.spec.names import usable_name
from bascule.spec.problems import Problem, mistake
from bascule.spec.reading import read_bytes, source_name
from bascule.spec.scripts import LONGEST_SCRIPT, TOO_LONG, script_problem, wrapped


def job_from_script(
    path: str | os.PathLike[str], *, name: str | None = None, target: str = "local", arguments: Sequence[str] = ()
) -> Job:
    """Return the job that runs the script at *path* (``-`` is stdin), named after the file unless *name* is given."""
    source = source_name(path)
    data = read_bytes(path, longest=LONGEST_SCRIPT, hint=TOO_LONG)
    try:
        script = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = (
            f"the script is not UTF-8: the byte {data[error.start]:#04x} at offset {error.start:,}; save it as UTF-8"
        )
        raise mistake(source, [f"{source}:{line}: {problem}"]) from error
    if found := script_problem(script):
        raise mistake(source, [f"{source}: {Problem((), *found)}"])
    if name is None:
        name = "script" if source == "stdin" else usable_name(Path(path).stem)
    return _job(Run(script=script), name=name, target=target, arguments=tuple(arguments), source=source)


def job_from_wrap(command: str, *, name: str = "wrap", target: str = "local") -> Job:
    """Return the job that runs one shell *command*, as ``--wrap`` asks."""
    if not command.strip():
        raise Mistake("`--wrap` names no command", hint="for instance `--wrap 'hostname; date'`")
    return _job(Run(script=wrapped(command)), name=name, target=target, arguments=(), source="--wrap")


def _job(run: Run, *, name: str, target: str, arguments: tuple[str, ...], source: str) -> Job:
    # Only where it runs on this machine is the caller's folder a folder there.
    folder = _here() if target == "local" else None
    spec = JobSpec(target=TargetRef(name=target), run=run, arguments=arguments, working_directory=folder)
    return validated(Job(namespace="default", name=name, uid="", spec=spec), source=source)


def _here() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError as error:
        raise Mistake("the current folder does not exist any more", hint="change into another one") from error
