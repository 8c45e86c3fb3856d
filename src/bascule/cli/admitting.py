"""From files on the command line to accepted jobs: all is read and checked before anything is stored."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from io import BufferedReader
from typing import NamedTuple

from msgspec.structs import replace

from bascule.bridge import Bridge, BridgeJob
from bascule.cli import output
from bascule.errors import Mistake
from bascule.model import Job, Target

STDIN = "-"
SBATCH, SHOWN = "#SBATCH", 4
OVERRIDES = ("target", "name", "partition", "account", "nodes", "time")


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Add the options that win over what a file says."""
    group = parser.add_argument_group("instead of what the file says")
    group.add_argument(
        "-t", "--target", metavar="TARGET", help="where to run; a plain script runs on `local` unless given"
    )
    group.add_argument("-n", "--name", metavar="NAME", help="the job's name; a plain script's is its file's")
    group.add_argument("-p", "--partition", metavar="PARTITION", help="the manager's partition or queue")
    group.add_argument("-A", "--account", metavar="ACCOUNT", help="the account that pays")
    group.add_argument("-N", "--nodes", metavar="N", type=int, help="how many nodes")
    group.add_argument("--time", metavar="D", help="the walltime: 90m, 1h30m, or as Slurm has it: 1:30:00")


def objects_from(path: str | None, args: argparse.Namespace) -> list[Job | Target]:
    """Return what the file at *path* describes, or `--wrap`, with the options of *args* over it."""
    from bascule.spec import with_overrides

    found = _read(path, args)
    jobs = [thing for thing in found if isinstance(thing, Job)]
    asked = {name: getattr(args, name) for name in OVERRIDES}
    if (args.name is not None or args.rest) and len(jobs) != 1:
        what = "`--name`" if args.name is not None else "arguments after `--`"
        raise Mistake(f"`{path}` holds {len(jobs)} jobs, and {what} can only be for one", hint="write it into the file")
    if args.rest:
        jobs = [replace(jobs[0], spec=replace(jobs[0].spec, arguments=tuple(args.rest)))]
    if any(value is not None for value in asked.values()) or args.rest:
        jobs = [with_overrides(job, **asked) for job in jobs]
    targets = [thing for thing in found if isinstance(thing, Target)]
    return [*targets, *jobs]


def _read(path: str | None, args: argparse.Namespace) -> Sequence[Job | Target]:
    from bascule.bridge.places import namespace_of
    from bascule.spec import is_script, job_from_script, job_from_wrap, load_file

    where = namespace_of(args.platform, args.namespace)
    wrap: str | None = getattr(args, "wrap", None)
    if wrap is not None and path is not None:
        raise Mistake(f"`--wrap` takes the place of the file `{path}`", hint="give one of the two")
    if wrap is not None:
        return [replace(job_from_wrap(wrap, name=args.name or "wrap", target=args.target or "local"), namespace=where)]
    if path is None:
        raise Mistake("no file is named", hint="name a script or a YAML file, `-` for stdin, or give `--wrap COMMAND`")
    if path == STDIN:
        script = isinstance(sys.stdin.buffer, BufferedReader) and sys.stdin.buffer.peek(2)[:2] == b"#!"
    else:
        script = is_script(path)
    if script:
        return [replace(job_from_script(path, name=args.name, target=args.target or "local"), namespace=where)]
    return load_file(path, namespace=where)


class Admitted(NamedTuple):
    """A job that is stored; *was_over* where it was there before and had come to its end."""

    job: BridgeJob
    was_over: bool


async def admit(bridge: Bridge, objects: Sequence[Job | Target], *, replace_other: bool = False) -> list[Admitted]:
    """Store *objects*, targets first; return the jobs, in their order."""
    for target in objects:
        if isinstance(target, Target):
            output.say(f"target/{target.name} {await bridge.apply_target(target)}")
    jobs = [thing for thing in objects if isinstance(thing, Job)]
    if not jobs:
        return []
    await _check(bridge, jobs)
    return [await _submit(bridge, job, replace_other=replace_other) for job in jobs]


async def _check(bridge: Bridge, jobs: Sequence[Job]) -> None:
    faults = []
    for job in jobs:
        try:
            await bridge.check(job)
            await _say_what_is_not_read(bridge, job)
        except Mistake as mistake:
            faults.append(mistake)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        lines = [f"{fault.message}; {fault.hint}" if fault.hint else fault.message for fault in faults]
        raise Mistake(f"{len(faults)} jobs cannot be accepted, so none was", problems=tuple(lines))


async def _say_what_is_not_read(bridge: Bridge, job: Job) -> None:
    """Say which lines for Slurm in the script of *job* mean nothing where it runs."""
    script = job.spec.run.script if job.spec.run is not None else None
    asked = [line.removeprefix(SBATCH).strip() for line in (script or "").splitlines() if line.startswith(SBATCH)]
    if not asked:
        return
    target = await bridge.store.target(job.target_ref)
    if target is None or target.spec.manager != "local":
        return
    shown = ", ".join(f"`{words}`" for words in asked[:SHOWN]) + (", ..." if len(asked) > SHOWN else "")
    output.note(
        f"job/{job.name}: `local` does not read `{SBATCH}` lines, so these mean nothing on this machine: {shown}"
    )
    output.hint("options such as `--time` say the same to any target; `-t TARGET` sends it to a cluster")


async def _submit(bridge: Bridge, job: Job, *, replace_other: bool) -> Admitted:
    old = None if replace_other else await bridge.store.get(job.ref)
    accepted = await bridge.submit(job, replace_other=replace_other)
    was_over = old is not None and old.status.phase.is_final
    if old is not None and not was_over:
        output.say(f"job/{job.name} is there already, with the same work: this attaches to it")
    return Admitted(accepted, was_over)


def say_over(name: str, what: str) -> None:
    """Say that the job of this *name* was over before anything was asked, and *what* that means."""
    output.say(f"job/{name} is over already{what}")
    output.hint("`--replace` runs it again, `-n NAME` runs it as another job")
