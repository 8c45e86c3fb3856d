"""``bascule agent``: run as one job's controller pod."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from bascule.cli import logbook, output
from bascule.cli.arguments import Parser
from bascule.cli.exits import Exit
from bascule.errors import Mistake

if TYPE_CHECKING:
    from bascule.cli.guardian import Progress

WHAT = """
Move one BridgeJob of a cluster to its end, as its controller pod. Its output is what this
process prints, its exit code what it ends with. The operator starts it, for targets with
`mirror: Isolated`.

With `--manifest`, print instead what a namespace's admin applies so that jobs there can
have controller pods: their account with its rights, and the operator's right to make them;
and with `--steps`, what lets an account's pods run `bascule run` as steps of a pipeline.
"""
EXAMPLES = """
bascule agent --manifest -n team-a --secret hpc-token | kubectl apply -f -
bascule agent --manifest -n team-a --secret hpc-token --target shared/hpc
bascule agent --manifest -n team-a --secret hpc-token --steps pipeline
bascule agent --namespace team-a --job train --uid 2f6b...
"""
MESSAGE_FILE = "/dev/termination-log"
OPERATOR_NAMESPACE = "bascule-system"


def add_arguments(parser: Parser) -> None:
    """Say what `agent` takes."""
    parser.add_argument(
        "-n", dest="namespace", metavar="NS", default=argparse.SUPPRESS, help="where the job lives, as `--namespace`"
    )
    parser.add_argument("--job", metavar="NAME", help="the job")
    parser.add_argument("--uid", metavar="UID", help="its uid: a later job of the same name is another's")
    parser.add_argument(
        "--guard", metavar="NET", action="append", default=[], help="a network of the cluster that no target reaches"
    )
    parser.add_argument("--manifest", action="store_true", help="print what the namespace's admin applies")
    parser.add_argument(
        "--secret", metavar="NAME", action="append", default=[], help="with --manifest: a Secret that jobs may use"
    )
    parser.add_argument(
        "--target",
        metavar="NS/NAME",
        action="append",
        default=[],
        help="with --manifest: a target of another namespace",
    )
    parser.add_argument(
        "--steps",
        metavar="ACCOUNT",
        action="append",
        default=[],
        help="with --manifest: a service account whose pods run `bascule run`",
    )
    parser.add_argument(
        "--operator-namespace",
        metavar="NS",
        default=OPERATOR_NAMESPACE,
        help=f"with --manifest: where the operator lives; default {OPERATOR_NAMESPACE}",
    )


def main(args: argparse.Namespace) -> int:
    """Attend to the job, or print the manifest; return the exit code."""
    if not args.namespace:
        raise Mistake("no namespace is named", hint="give `-n NS`")
    if args.manifest:
        return _print_manifest(args)
    if not args.job or not args.uid:
        raise Mistake("an agent needs a job", hint="give `--job` and `--uid`, or `--manifest`")
    from bascule.cli.guardian import guard

    # Nothing of its own in the job's output, unless it is asked for.
    logbook.set_up(args.verbose)
    return guard(
        lambda progress, sink: _attend(args, progress, sink),
        message_file=os.environ.get("BASCULE_MESSAGE_FILE", MESSAGE_FILE),
    )


def _print_manifest(args: argparse.Namespace) -> int:
    import yaml

    from bascule.model import Ref
    from bascule.platforms.kubernetes import manifest

    targets = []
    for text in args.target:
        namespace, slash, name = text.partition("/")
        if not slash or not namespace or not name:
            raise Mistake(f"`{text}` names no target of another namespace", hint="write it as `NAMESPACE/NAME`")
        targets.append(Ref(namespace, name))
    documents = manifest.for_agents(
        args.namespace, secrets=tuple(args.secret), targets=tuple(targets), operator=args.operator_namespace
    )
    for account in args.steps:
        documents += manifest.for_steps(args.namespace, account=account, secrets=tuple(args.secret))
    output.data(yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True).rstrip("\n"))
    return Exit.SUCCEEDED


def _attend(args: argparse.Namespace, progress: Progress, sink: int) -> int:
    # In the agent alone, so that the process that keeps it stays small.
    from bascule.cli.attend import attend

    return attend(args, progress, sink)
