"""``bascule operator``: run as the cluster's operator."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from bascule.cli import logbook, output, session
from bascule.cli.arguments import Parser
from bascule.cli.exits import Exit
from bascule.cli.health import HOST, Page, Pages, port_of, serve_pages
from bascule.cli.metrics import CONTENT_TYPE, Metrics
from bascule.cli.serve import PORT, port_from
from bascule.clients.kube import access_from_environment
from bascule.clients.kube.borders import borders_of
from bascule.errors import Mistake
from bascule.operating import Operator
from bascule.platforms.kubernetes import Settings, open_store
from bascule.platforms.kubernetes.opening import installation_of
from bascule.platforms.kubernetes.pods import PodTemplate
from bascule.wiring import SystemClock

WHAT = """
Keep the BridgeJobs of a cluster moving until stopped: through the kubeconfig, or the pod's
service account. Any number of operators may run; one leads, the others take over.

Its Lease lies in `--namespace`, by default $POD_NAMESPACE, else the kubeconfig's.
Metrics for Prometheus are at /metrics, health at /healthz; /readyz says whether this
process is ready to lead. Where the lead is lost it ends with code 75, to be started anew.

With `--manifest`, print instead what the admins of namespaces apply so that the operator may
read their Secrets for targets with `mirror: None`: those that `--reads` names, and no others.
"""
EXAMPLES = """
bascule operator --manifest --reads team-a/hpc-token | kubectl apply -f -
bascule operator
bascule operator --namespace bascule --watch-namespace team-a
bascule operator --host 0.0.0.0 --port 8790
"""


def add_arguments(parser: Parser) -> None:
    """Say what `operator` takes."""
    parser.add_argument("--watch-namespace", metavar="NS", default=None, help="only the jobs of this namespace")
    parser.add_argument(
        "--guard", metavar="NET", action="append", default=[], help="a network of the cluster that no target reaches"
    )
    parser.add_argument("--manifest", action="store_true", help="print what the admins of namespaces apply")
    parser.add_argument(
        "--reads", metavar="NS/SECRET", action="append", default=[], help="with --manifest: a Secret that it may read"
    )
    parser.add_argument("--host", metavar="ADDRESS", default=HOST, help=f"where metrics are; default {HOST}")
    parser.add_argument(
        "--port", metavar="PORT", type=port_from, default=PORT, help=f"their port; default {PORT}, 0: any that is free"
    )
    parser.add_argument(
        "--lease-seconds",
        metavar="N",
        type=_seconds_from,
        default=15,
        help="how long a silent leader is waited for; default 15",
    )


def _seconds_from(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 3600:
        raise Mistake(f"`{text}` is no number of seconds", hint="give one from 1 to 3600")
    return int(text)


def main(args: argparse.Namespace) -> int:
    """Operate until stopped, or print the manifest; return the exit code."""
    if args.manifest:
        return _print_manifest(args)
    logbook.set_up(args.verbose, least=logging.INFO)
    asyncio.run(_attended(args))
    return Exit.SUCCEEDED


def _print_manifest(args: argparse.Namespace) -> int:
    import yaml

    from bascule.platforms.kubernetes import manifest

    wanted: dict[str, list[str]] = {}
    for text in args.reads:
        namespace, slash, name = text.partition("/")
        if not slash or not namespace or not name:
            raise Mistake(f"`{text}` names no Secret of a namespace", hint="write it as `NAMESPACE/SECRET`")
        wanted.setdefault(namespace, []).append(name)
    if not wanted:
        raise Mistake("there is nothing to print", hint="name the Secrets that it may read: `--reads NAMESPACE/SECRET`")
    here = args.namespace or manifest.HERE
    documents = [
        each
        for namespace, names in wanted.items()
        for each in manifest.for_operator(namespace, secrets=tuple(names), operator=here)
    ]
    output.data(yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True).rstrip("\n"))
    return Exit.SUCCEEDED


async def _attended(args: argparse.Namespace) -> None:
    try:
        await session.attended(_operate(args))
    except session.Left as left:
        output.say(f"stopped by {left}; the jobs go on, and another operator may take over")


async def _operate(args: argparse.Namespace) -> None:
    access, clock = access_from_environment(), SystemClock()
    namespace = args.namespace or os.environ.get("POD_NAMESPACE") or access.namespace
    settings = Settings(
        namespace=namespace,
        watched=args.watch_namespace,
        duration=args.lease_seconds,
        renew=args.lease_seconds / 5,
        retry=min(2.0, args.lease_seconds / 5),
    )
    installation = await installation_of(access, namespace)
    async with AsyncExitStack() as stack:
        folder = args.home or stack.enter_context(tempfile.TemporaryDirectory(prefix="bascule-operator-"))
        store = await stack.enter_async_context(open_store(access, clock, settings, installation=installation))
        borders = await borders_of(store.client, args.guard)
        template = PodTemplate.from_environment(tuple(args.guard))
        operator = Operator(store, clock, Path(folder), borders=borders, template=template)
        server = await stack.enter_async_context(await serve_pages(_pages(operator), args.port, args.host))
        output.say(f"operates {access.server} as installation `{installation}`, identity `{settings.identity}`")
        output.say(f"metrics at http://{args.host}:{port_of(server)}/metrics")
        await operator.run(lambda: output.say(f"leads, with epoch {store.lease.epoch}"))


def _pages(operator: Operator) -> Pages:
    metrics = Metrics(operator, operator.counts)

    async def told() -> Page:
        return Page(200, await metrics.text(), CONTENT_TYPE)

    async def healthy() -> Page:
        return Page(200, "ok\n")

    async def ready() -> Page:
        if operator.runner is not None:
            return Page(200, "leads\n")
        holder = operator.store.lease.holder
        return Page(200, f"waits: `{holder}` leads\n") if holder else Page(503, "nobody leads yet\n")

    return {"/metrics": told, "/healthz": healthy, "/readyz": ready}
