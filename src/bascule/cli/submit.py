"""``bascule submit``: accept durably, submit, print the ids, and go."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bascule.bridge import Bridge, BridgeJob
from bascule.cli import output, session, words
from bascule.cli.admitting import add_overrides, admit, objects_from, say_over
from bascule.cli.arguments import Parser
from bascule.cli.exits import BY_SIGNAL, Exit, code_of_error, code_of_job
from bascule.cli.following import NOT_ACCEPTED, not_accepted
from bascule.cli.watching import Seen, until_each
from bascule.errors import Mistake
from bascule.model import Job, Phase, Reason

WHAT = """
Accept the jobs of each FILE durably, submit them, and print `job/NAME` and the id that
the manager gave. FILE is YAML or a plain script; `-` is stdin. The command ends when
each job was submitted, or cannot be for now: then it says why, and who moves it on.

The same name with the same work again submits nothing. Of a job that is over already the
command says what became of it, and ends as that job ended.
"""
EXAMPLES = """
bascule submit job.yaml
bascule submit first.sh second.sh -t hpc
bascule submit train.sh -n train-3 -- --epochs 3
"""

WAITS = frozenset({Reason.WAITING_FOR_JOB, Reason.SUSPENDED, Reason.TARGET_FULL, Reason.RETRYING})
"""Reasons that are no trouble: the job waits for something, as it was asked to."""


def add_arguments(parser: Parser) -> None:
    """Say what `submit` takes."""
    parser.takes_rest = True
    parser.set_defaults(rest=())
    parser.usage = "bascule submit [OPTION]... FILE... [-- ARGUMENT...]"
    parser.add_argument("files", metavar="FILE", nargs="*", help="YAML, or a plain script; - is stdin")
    add_overrides(parser)
    parser.add_argument("--wrap", metavar="COMMAND", help="submit this shell command, in place of a file")
    parser.add_argument("--replace", action="store_true", help="put it in the place of a job of the same name")


def main(args: argparse.Namespace) -> int:
    """Submit the jobs; return the exit code."""
    objects = [thing for path in args.files or [None] for thing in objects_from(path, args)]

    async def work(bridge: Bridge) -> int:
        jobs: list[BridgeJob] = []

        async def whole() -> list[int]:
            admitted = await admit(bridge, objects, replace_other=args.replace)
            jobs.extend(one.job for one in admitted)
            return await _submit_all(bridge, jobs, {one.job.name for one in admitted if one.was_over})

        try:
            codes = await session.attended(whole())
        except session.Left as left:
            if jobs:
                output.say(f"left early; what was accepted is safe: {', '.join(f'job/{job.name}' for job in jobs)}")
                output.hint("`bascule wait NAME` goes on with it")
            return BY_SIGNAL + left.signal
        return next((code for code in codes if code), Exit.SUCCEEDED)

    return session.run(args, work, drive=True)


async def _submit_all(bridge: Bridge, jobs: Sequence[BridgeJob], over: set[str]) -> list[int]:
    """Wait until each of *jobs* is submitted, or cannot be for now; tell about each, *over* those that were before."""
    settled: dict[str, Job] = {}
    codes: list[int] = []

    def note(seen: Seen) -> bool:
        if seen.now is None:
            raise Mistake(f"job `{seen.job.name}` was deleted meanwhile", hint="`bascule get jobs` lists what is there")
        if _is_settled(seen.now):
            settled[seen.job.name] = seen.now
        while len(codes) < len(jobs) and (next_one := settled.get(jobs[len(codes)].name)) is not None:
            codes.append(_tell(next_one, was_over=next_one.name in over))
        return seen.job.name in settled

    await until_each(bridge, jobs, note, output.note)
    return codes


def _is_settled(job: Job) -> bool:
    match job.status.phase:
        case Phase.SUBMITTING:
            return False
        case Phase.PENDING:
            reason = job.status.reason
            return reason in WAITS or reason in NOT_ACCEPTED or reason == Reason.TARGET_UNREACHABLE
    return True


def _tell(job: Job, *, was_over: bool) -> int:
    status = job.status
    name = f"job/{job.name}"
    if status.reason in NOT_ACCEPTED:
        error = not_accepted(job)
        output.tell(error)
        return code_of_error(error)
    output.data(f"{name} {status.id}" if status.id else name)
    if was_over:
        say_over(job.name, f", so nothing was submitted: {output.clean(words.result_of(job))}")
        return code_of_job(status)
    if status.phase is Phase.FAILED and status.id is None:
        colour = output.PHASE_COLOURS["Failed"]
        output.say(f"{output.coloured(name, colour, sys.stderr)} {output.clean(words.result_of(job))}")
        return code_of_job(status)
    if status.phase is not Phase.PENDING:
        return Exit.SUCCEEDED
    output.say(f"{name} is accepted, and not submitted: {output.clean(status.message or str(status.reason))}")
    if status.reason == Reason.SUSPENDED:
        output.hint(f"`bascule release {job.name}` lets it go on")
    else:
        output.hint(f"it goes on while `bascule serve` or `bascule wait {job.name}` runs")
    return Exit.UNAVAILABLE if status.reason == Reason.TARGET_UNREACHABLE else Exit.SUCCEEDED
