"""``bascule crds``: print the custom resource definitions."""

from __future__ import annotations

import argparse

from bascule.cli import output
from bascule.cli.arguments import Parser
from bascule.cli.exits import Exit

WHAT = """
Print the definitions of BridgeJob and BridgeTarget, for `kubectl apply --server-side -f -`.

They are made from the models that check files elsewhere: what this version takes is what
they say.
"""
EXAMPLES = """
bascule crds | kubectl apply --server-side -f -
kubectl explain bridgejob.spec.run
"""


def add_arguments(parser: Parser) -> None:
    """Take nothing."""


def main(args: argparse.Namespace) -> int:
    """Print them; return the exit code."""
    import yaml

    from bascule.platforms.kubernetes.crds import crds

    output.data(yaml.safe_dump_all(crds(), sort_keys=False, allow_unicode=True, width=120).rstrip("\n"))
    return Exit.SUCCEEDED
