"""``bascule cancel``: end jobs, and wait until their managers have confirmed it."""

from __future__ import annotations

import argparse

from bascule.bridge import Bridge
from bascule.cli import output, session, words
from bascule.cli.arguments import Parser
from bascule.cli.exits import BY_SIGNAL, Exit
from bascule.cli.steering import add_jobs, chosen, until

WHAT = """
Ask for the end of jobs, in whatever phase they are, and wait until their managers have
confirmed it, for a minute at most. What has ended already stays as it is.
"""
EXAMPLES = """
bascule cancel train
bascule cancel -l project=x
"""

CONFIRMED_WITHIN = 60.0


def add_arguments(parser: Parser) -> None:
    """Say what `cancel` takes."""
    add_jobs(parser)


def main(args: argparse.Namespace) -> int:
    """Cancel them; return the exit code."""

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
