"""``bascule version``."""

from __future__ import annotations

import argparse
import importlib.metadata

from bascule.cli import output
from bascule.cli.arguments import Parser
from bascule.cli.exits import Exit

WHAT = "Print the version."
EXAMPLES = """
bascule version
"""


def add_arguments(parser: Parser) -> None:
    """Take nothing."""


def main(args: argparse.Namespace) -> int:
    """Print it."""
    output.data(f"bascule {version()}")
    return Exit.SUCCEEDED


def version() -> str:
    """Return the version that is installed."""
    try:
        return importlib.metadata.version("bascule")
    except importlib.metadata.PackageNotFoundError:
        return "from a source tree"
