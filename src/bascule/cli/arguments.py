"""
The parser: argparse, with commands that are filled in only when they are called.

A usage error is a `Mistake` like any other, and every ``--help`` ends with examples.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from bascule.errors import Mistake

if TYPE_CHECKING:
    from bascule.model import Duration


class CommandModule(Protocol):
    """What the module of a command offers."""

    WHAT: str
    EXAMPLES: str

    def add_arguments(self, parser: Parser) -> None:
        """Say what the command takes."""

    def main(self, args: argparse.Namespace) -> int:
        """Do it; return the exit code."""


class Parser(argparse.ArgumentParser):
    """A parser of one command, or of the whole."""

    def __init__(self, *, module: str = "", **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self.takes_rest = False
        self._module = module

    def fill(self) -> None:
        """Import the command's module and take in its arguments."""
        if not self._module:
            return
        command: CommandModule = importlib.import_module(self._module)
        self._module = ""
        self.description = command.WHAT.strip()
        self.epilog = examples(command.EXAMPLES)
        self.set_defaults(main=command.main)
        command.add_arguments(self)
        add_globals(self, default=argparse.SUPPRESS)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and keep what follows ``--`` as it is where the command hands it on; nothing is left over."""
        self.fill()
        rest: tuple[str, ...] | None = None
        if self.takes_rest and args is not None and "--" in args:
            cut = list(args).index("--")
            args, rest = args[:cut], tuple(args[cut + 1 :])
        found, surplus = super().parse_known_args(args, namespace)
        if surplus:
            from bascule.cli import misuse

            raise misuse.of_surplus(surplus, found, self)
        if rest is not None:
            found.rest = rest
        return found, []

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found as a `Mistake`."""
        from bascule.cli import misuse

        raise misuse.of_message(message, self.prog)


class ShowVersion(argparse.Action):
    """Prints the version, as the command does."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print it, and end."""
        from bascule.cli import version

        parser.exit(version.main(argparse.Namespace()))


def examples(lines: str) -> str:
    """Return the end of a help text."""
    return "examples:\n" + "\n".join(f"  {line}".rstrip() for line in lines.strip().splitlines())


def add_globals(parser: argparse.ArgumentParser, *, default: Any = None) -> None:
    """Add what every command takes, before its name or after it."""
    group = parser.add_argument_group("everywhere")
    group.add_argument(
        "--home", metavar="FOLDER", default=default, help="where the state lies; default $BASCULE_HOME, else XDG's"
    )
    group.add_argument(
        "--platform",
        metavar="NAME",
        default=default,
        help="where objects live: embedded or kubernetes; default $BASCULE_PLATFORM, else where this runs",
    )
    group.add_argument(
        "--namespace", metavar="NS", default=default, help="on Kubernetes: which namespace; default the kubeconfig's"
    )
    group.add_argument(
        "-v", "--verbose", action="count", default=default, help="tell more on stderr; twice: everything"
    )


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add ``-l``."""
    parser.add_argument(
        "-l",
        "--labels",
        metavar="KEY=VALUE",
        action="append",
        type=labels_from,
        default=[],
        help="only jobs with these labels; several are separated by commas",
    )


def labels_from(text: str) -> dict[str, str]:
    """Read ``KEY=VALUE,...``."""
    pairs = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise Mistake(f"`{text}` selects no labels", hint="write it as `-l project=x,stage=test`")
        pairs[key.strip()] = value.strip().removeprefix("=")
    return pairs


def duration_from(text: str) -> Duration:
    """Read a duration."""
    from bascule.model import Duration

    return Duration.parse(text)


def count_from(text: str) -> int:
    """Read a number from 0 on."""
    if not text.isdecimal() or not text.isascii():
        raise Mistake(f"`{text}` is no number", hint="give one from 0 on")
    return int(text)


def merged(labels: Sequence[dict[str, str]]) -> dict[str, str]:
    """Return all labels that were asked for, from however many options."""
    return {key: value for pairs in labels for key, value in pairs.items()}
