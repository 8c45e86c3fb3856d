"""``bascule completion``: what a shell needs to complete our command lines."""

from __future__ import annotations

import argparse

from bascule.cli import output
from bascule.cli.arguments import Parser
from bascule.cli.exits import Exit
from bascule.cli.naming import KINDS

WHAT = """
Print the completion script for a shell. Nothing runs when Tab is pressed but the shell.
"""
EXAMPLES = """
bascule completion bash > ~/.local/share/bash-completion/completions/bascule
bascule completion zsh > ~/.zfunc/_bascule
bascule completion fish > ~/.config/fish/completions/bascule.fish
"""


def add_arguments(parser: Parser) -> None:
    """Say what `completion` takes."""
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


def main(args: argparse.Namespace) -> int:
    """Print it."""
    import shtab

    from bascule.cli.main import parser

    output.data(shtab.complete(_filled(parser()), shell=args.shell).rstrip("\n"))
    return Exit.SUCCEEDED


def _filled(parser: Parser) -> Parser:
    """Take in the arguments of all commands."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask for them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                command.fill()
        if action.dest in {"file", "files", "result"}:
            action.complete = "FILE"  # type: ignore[attr-defined]
        if action.dest == "kind":
            action.choices = KINDS
    return parser
