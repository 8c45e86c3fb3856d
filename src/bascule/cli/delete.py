"""``bascule delete``: remove jobs, cancelled first, or targets."""

from __future__ import annotations

import argparse

from bascule.bridge import Bridge
from bascule.cli import output, session
from bascule.cli.arguments import Parser
from bascule.cli.exits import BY_SIGNAL, Exit
from bascule.cli.naming import add_kind_and_names, settle
from bascule.cli.steering import until
from bascule.cli.wait import must_exist
from bascule.errors import Mistake
from bascule.model import Ref
from bascule.ports import Selector

WHAT = """
Remove jobs or targets. A job that lives is cancelled first (or left to itself, with
`onDelete: Detach`), and removed once its manager has confirmed. A target can be removed
when no live job needs it.
"""
EXAMPLES = """
bascule delete job train
bascule delete target hpc
"""

GONE_WITHIN = 60.0


def add_arguments(parser: Parser) -> None:
    """Say what `delete` takes."""
    add_kind_and_names(parser, "job or target", "which")


def main(args: argparse.Namespace) -> int:
    """Remove them; return the exit code."""
    settle(args, "delete")
    names = list(dict.fromkeys(args.names))
    if args.kind == "job":
        return session.run(args, lambda bridge: _delete_jobs(bridge, names), drive=True)
    return session.run(args, lambda bridge: _delete_targets(bridge, names), drive=False)


async def _delete_jobs(bridge: Bridge, names: list[str]) -> int:
    jobs = [bridge.job(name) for name in names]
    await must_exist(bridge, jobs)
    uids = {job.name: (await job.get()).uid for job in jobs}
    for job in jobs:
        await job.delete()
    try:
        waiting = until(bridge, jobs, lambda job: job.uid != uids[job.name], within=GONE_WITHIN)
        after = await session.attended(waiting)
    except session.Left as left:
        output.say("the removal is asked for, and goes on when somebody drives this home")
        return BY_SIGNAL + left.signal
    late = 0
    for job, now in zip(jobs, after, strict=True):
        if now is None or now.uid != uids[job.name]:
            output.data(f"job/{job.name} deleted")
        else:
            late += 1
            output.say(f"job/{job.name} is being deleted: {output.clean(now.status.message)}")
    if late:
        output.hint("it is asked for, and goes on when somebody drives this home: `bascule serve`")
    return Exit.TEMPORARY if late else Exit.SUCCEEDED


async def _delete_targets(bridge: Bridge, names: list[str]) -> int:
    for name in names:
        if await bridge.store.target(Ref(bridge.namespace, name)) is None:
            known = sorted([target.name async for target in bridge.store.targets()])
            raise Mistake(f"there is no target `{name}`", hint=f"there are: {', '.join(known) or 'none'}")
        needing = [job.name async for job in bridge.store.list(Selector(target=name, live=True, limit=4))]
        if needing:
            more = ", ..." if len(needing) > 3 else ""
            raise Mistake(
                f"target `{name}` is needed by jobs that live: {', '.join(needing[:3])}{more}",
                hint="wait until they are over, or cancel them",
            )
    for name in names:
        await bridge.store.delete_target(Ref(bridge.namespace, name))
        output.data(f"target/{name} deleted")
    return Exit.SUCCEEDED
