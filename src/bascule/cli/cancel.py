"""``bascule cancel``: end jobs, and wait until their managers have confirmed it."""

from __future__ import annotations

import argparse

from bascule.bridge import Bridge, check_index
from bascule.cli import output, session, words
from bascule.cli.arguments import Parser, count_from
from bascule.cli.exits import BY_SIGNAL, Exit
from bascule.cli.steering import add_jobs, chosen, until
from bascule.errors import Mistake

WHAT = """
Ask for the end of jobs, in whatever phase they are, and wait until their managers have
confirmed it, for a minute at most. What has ended already stays as it is.

With `--index I`, ask the manager at once for the end of one task of an array; the other
tasks go on, and `describe` counts it as cancelled when it has ended.
"""
EXAMPLES = """
bascule cancel train
bascule cancel -l project=x
bascule cancel sweep --index 17
"""

CONFIRMED_WITHIN = 60.0


def add_arguments(parser: Parser) -> None:
    """Say what `cancel` takes."""
    add_jobs(parser)
    parser.add_argument("--index", metavar="I", type=count_from, help="of one array, this task alone")


def main(args: argparse.Namespace) -> int:
    """Cancel them; return the exit code."""
    if args.index is not None:
        return _cancel_task(args)

    async def work(bridge: Bridge) -> int:
        jobs = await chosen(bridge, args)
        before = [await job.get() for job in jobs]
        for job, state in zip(jobs, before, strict=True):
            if not state.status.phase.is_final:
                await job.cancel()
        try:
            waiting = until(bridge, jobs, lambda job: job.status.phase.is_final, within=CONFIRMED_WITHIN)
            after = await session.attended(waiting)
        except session.Left as left:
            output.say("the cancellation is asked for, and goes on when somebody drives this home")
            return BY_SIGNAL + left.signal
        unconfirmed = 0
        for state, now in zip(before, after, strict=True):
            name = f"job/{state.name}"
            if now is None:
                output.data(f"{name} is gone")
            elif state.status.phase.is_final:
                output.data(f"{name} was over already: {output.clean(words.result_of(now))}")
            else:
                output.data(f"{name} {output.clean(words.state_of(now))}")
                unconfirmed += not now.status.phase.is_final
        if unconfirmed:
            output.hint("it is asked for, and not confirmed yet; `bascule wait NAME` looks after it")
        return Exit.TEMPORARY if unconfirmed else Exit.SUCCEEDED

    return session.run(args, work, drive=True)


def _cancel_task(args: argparse.Namespace) -> int:
    """Have one task of an array ended; return the exit code."""
    if len(args.names) != 1 or args.labels:
        raise Mistake("`--index` is a task of one array", hint="name one job, and no labels")

    async def work(bridge: Bridge) -> int:
        job = bridge.job(args.names[0])
        state = await job.get()
        check_index(state, args.index)
        name = f"job/{job.name} task {args.index}"
        if state.status.phase.is_final:
            output.data(f"{name}: the job was over already: {output.clean(words.result_of(state))}")
        elif state.status.handle is None:
            output.say(f"job/{job.name} is not submitted yet, so no task of it can be cancelled")
            output.hint(f"try again once it is; `bascule cancel {job.name}` cancels the whole")
            return Exit.TEMPORARY
        else:
            await job.cancel(args.index)
            output.data(f"{name}: the manager was asked to end it")
        return Exit.SUCCEEDED

    return session.run(args, work, drive=False)
