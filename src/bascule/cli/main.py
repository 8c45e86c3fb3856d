"""
The entry point: find the command, import its module, run it, and let no traceback out.

Only what ``bascule --help`` needs is imported here.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from bascule.cli.arguments import Parser, ShowVersion, add_globals, examples
from bascule.cli.exits import Exit
from bascule.cli.faults import Border
from bascule.errors import Mistake

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("bascule.cli.run", "submit jobs, show their output live, end with their result"),
    "submit": ("bascule.cli.submit", "accept jobs durably, submit them, print their ids"),
    "apply": ("bascule.cli.apply", "make or change jobs and targets"),
    "delete": ("bascule.cli.delete", "remove jobs, cancelled first, or targets"),
    "get": ("bascule.cli.get", "list jobs or targets"),
    "describe": ("bascule.cli.describe", "tell all that is known of a job or target, and its story"),
    "logs": ("bascule.cli.logs", "print a job's output"),
    "wait": ("bascule.cli.wait", "wait until jobs are over"),
    "cancel": ("bascule.cli.cancel", "end jobs"),
    "hold": ("bascule.cli.hold", "keep jobs from starting"),
    "release": ("bascule.cli.release", "let held or suspended jobs go on"),
    "files": ("bascule.cli.files", "list the files of a job"),
    "fetch": ("bascule.cli.fetch", "bring a file of a job here"),
    "target": ("bascule.cli.target", "check a target step by step"),
    "serve": ("bascule.cli.serve", "keep everything moving until stopped"),
    "crds": ("bascule.cli.crds", "print the custom resource definitions for Kubernetes"),
    "operator": ("bascule.cli.operator", "run as a Kubernetes cluster's operator"),
    "quantum-gateway": ("bascule.cli.quantum_gateway", "serve simulated quantum devices, to try jobs against"),
    "agent": ("bascule.cli.agent", "run as one job's controller pod on Kubernetes"),
    "completion": ("bascule.cli.completion", "print the completion script for a shell"),
    "help": ("bascule.cli.help", "tell all about a command, or list them"),
    "version": ("bascule.cli.version", "print the version"),
}

PLATFORMS = ("embedded", "kubernetes")
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"

WHAT = "Run long jobs wherever they belong, and keep watch over them until they are done."
EXAMPLES = """
bascule run train.sh              run a script on this machine, and watch it
bascule submit job.yaml           submit a job, and go away
bascule wait train                come back for its result
bascule get jobs                  see them all
bascule run --help                all about one command
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv*, or this process's own; return the exit code."""
    with Border() as border:
        _speak_utf8()
        whole = parser()
        args = whole.parse_args(argv)
        border.home = args.home
        if "main" not in args:
            whole.print_help(sys.stderr)
            border.code = Exit.MISTAKE
            return border.code
        check_platform(args)
        border.code = args.main(args)
    return border.code


def parser() -> Parser:
    """Return the parser of the whole; commands are filled in when they are called."""
    whole = Parser(prog="bascule", description=WHAT, epilog=examples(EXAMPLES))
    add_globals(whole)
    whole.add_argument("--version", action=ShowVersion, help="print the version, and end")
    commands = whole.add_subparsers(metavar="COMMAND", title="commands", parser_class=Parser)
    for name, (module, what) in COMMANDS.items():
        commands.add_parser(name, help=what, module=module)
    return whole


def check_platform(args: Namespace) -> None:
    """Settle on which platform objects live, as `places.platform_from` does; nothing is imported for it."""
    in_pod = "KUBERNETES_SERVICE_HOST" in os.environ and os.path.exists(f"{ACCOUNT}/token")  # noqa: PTH110 - as above
    name = args.platform or os.environ.get("BASCULE_PLATFORM") or ("kubernetes" if in_pod else "embedded")
    if name not in PLATFORMS:
        raise Mistake(f"there is no platform `{name}`", hint=f"there are: {', '.join(PLATFORMS)}")
    args.platform = name


def _speak_utf8() -> None:
    """Write what the terminal's encoding lacks as escapes, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


__all__ = ["COMMANDS", "main", "parser"]
