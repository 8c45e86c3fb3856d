"""``bascule target check``: a target, step by step."""

from __future__ import annotations

import argparse
import sys

from bascule.bridge import Bridge
from bascule.cli import output, session
from bascule.cli.arguments import Parser, examples
from bascule.cli.exits import BY_SIGNAL, Exit
from bascule.cli.naming import target_name
from bascule.errors import Mistake
from bascule.model import Check, Ref

WHAT = """
Try a target: whether its address is found, answers, is who it should be, lets us in, and
speaks a version that is known. Each step is told with its result, and with what to do.
"""
EXAMPLES = """
bascule target check local
"""


def add_arguments(parser: Parser) -> None:
    """Say what `target` takes."""
    verbs = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    check = verbs.add_parser(
        "check",
        help="go through the steps to a target, one by one",
        description=WHAT.strip(),
        epilog=examples(EXAMPLES),
    )
    check.add_argument("name", metavar="NAME", type=target_name, help="a target")


def main(args: argparse.Namespace) -> int:
    """Check it; return the exit code."""

    async def work(bridge: Bridge) -> int:
        target = await bridge.store.target(Ref(bridge.namespace, args.name))
        if target is None:
            known = sorted([target.name async for target in bridge.store.targets()])
            raise Mistake(f"there is no target `{args.name}`", hint=f"there are: {', '.join(known) or 'none'}")
        manager = await bridge.manager_of(target, target.namespace)
        try:
            health = await session.attended(manager.probe())
        except session.Left as left:
            return BY_SIGNAL + left.signal
        width = max((len(check.name) for check in health.checks), default=0)
        for check in health.checks:
            _tell(check, width)
        well = health.reachable and health.authenticated and health.compatible
        if well:
            version = f", {output.clean(health.version)}" if health.version else ""
            output.data(f"target/{target.name} is ready: {target.spec.manager}{version}")
            return Exit.SUCCEEDED
        output.data(f"target/{target.name} is not ready: {output.clean(health.message)}")
        if health.hint and not any(check.hint == health.hint for check in health.checks):
            output.hint(health.hint)
        return Exit.UNAVAILABLE

    return session.run(args, work, drive=False)


def _tell(check: Check, width: int) -> None:
    sign = output.coloured("ok    ", output.GREEN) if check.ok else output.coloured("FAILED", output.RED)
    output.data(f"{sign}  {check.name.ljust(width)}  {output.clean(check.detail)}".rstrip())
    if check.hint:
        output.data(
            f"        {''.ljust(width)}  {output.coloured('hint:', output.CYAN, sys.stdout)} {output.clean(check.hint)}"
        )
