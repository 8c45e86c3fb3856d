"""``bascule help``: what ``--help`` shows."""

from __future__ import annotations

import argparse

from bascule.cli.arguments import Parser
from bascule.cli.exits import Exit

WHAT = "Tell all about COMMAND, as `bascule COMMAND --help` does, or list the commands."
EXAMPLES = """
bascule help
bascule help run
"""


def add_arguments(parser: Parser) -> None:
    """Say what `help` takes."""
    parser.add_argument("words", metavar="COMMAND", nargs="*", help="a command")


def main(args: argparse.Namespace) -> int:
    """Print it; return the exit code."""
    from bascule.cli.main import parser

    parser().parse_args([*args.words, "--help"])
    return Exit.SUCCEEDED
