"""``bascule serve``: keep everything in the home moving, unattended."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections import Counter
from contextlib import AsyncExitStack

from bascule.bridge import Bridge
from bascule.cli import logbook, output, session
from bascule.cli.arguments import Parser, count_from
from bascule.cli.exits import Exit
from bascule.cli.get import LIVE
from bascule.cli.health import HOST, Page, Pages, port_of, serve_pages
from bascule.cli.metrics import CONTENT_TYPE, Metrics
from bascule.errors import Mistake
from bascule.platforms.embedded.glance import glance

WHAT = """
Keep everything in the home moving until stopped: submits, retries, dependencies, deadlines.
Where another process drives the home already, follow it, and take over when it ends.

Metrics for Prometheus are at /metrics of a port that only this machine can reach, health
at /healthz, and /readyz says whether this process drives. Ctrl-C and TERM end it with
code 0; jobs are not touched.
"""
EXAMPLES = """
bascule serve
bascule serve --home /srv/bascule --port 8790
curl http://127.0.0.1:8790/metrics
"""

PORT = 8790
LAST_PORT = 65535


def add_arguments(parser: Parser) -> None:
    """Say what `serve` takes."""
    parser.add_argument(
        "--port",
        metavar="PORT",
        type=port_from,
        default=PORT,
        help=f"where metrics are; default {PORT}, 0: any that is free",
    )
    parser.add_argument("--no-http", action="store_true", help="no metrics and no health")


def port_from(text: str) -> int:
    """Read the number of a port; 0 is any that is free."""
    number = count_from(text)
    if number > LAST_PORT:
        raise Mistake(f"`{text}` is no port", hint=f"give one from 0 to {LAST_PORT}")
    return number


def main(args: argparse.Namespace) -> int:
    """Serve until stopped; return the exit code."""
    if args.platform == "kubernetes":
        raise Mistake("`serve` moves the jobs of a home; a cluster's are its operator's", hint="`bascule operator`")

    async def work(bridge: Bridge) -> int:
        logbook.set_up(args.verbose, least=logging.INFO)
        try:
            await session.attended(_serve(bridge, args))
        except session.Left as left:
            output.say(f"stopped by {left}; the jobs go on")
            output.hint("retries, dependencies and deadlines wait until `bascule serve` or `bascule wait` runs")
        return Exit.SUCCEEDED

    return session.run(args, work, drive=False)


async def _serve(bridge: Bridge, args: argparse.Namespace) -> None:
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        output.say(f"serves home {bridge.store.home}")
        if not args.no_http:
            server = await stack.enter_async_context(await serve_pages(_pages(bridge), args.port))
            output.say(f"metrics at http://{HOST}:{port_of(server)}/metrics")
        if other := bridge.store.driver():
            output.say(f"{other} drives it; this process takes over when that one ends")
        tasks.create_task(bridge.drive(), name="drive")


def _pages(bridge: Bridge) -> Pages:
    def count() -> Counter[str]:
        return Counter(line.phase for line in glance(bridge.store.home, phases=LIVE))

    metrics = Metrics(bridge, lambda: asyncio.to_thread(count))

    async def told() -> Page:
        return Page(200, await metrics.text(), CONTENT_TYPE)

    async def healthy() -> Page:
        return Page(200, "ok\n")

    async def ready() -> Page:
        if bridge.drives:
            return Page(200, "drives\n")
        other = bridge.store.driver()
        return Page(503, f"{f'process {other.pid}' if other else 'nobody'} drives this home\n")

    return {"/metrics": told, "/healthz": healthy, "/readyz": ready}
