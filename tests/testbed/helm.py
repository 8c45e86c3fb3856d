"""Helm, compiled here: for the tests of the chart."""

from pathlib import Path

from tests.testbed import go_programs
from tests.testbed.go_programs import GoPrograms
from tests.testbed.machine import Announce, silent

HELM = GoPrograms("helm", what="tool")


def ensure(announce: Announce = silent) -> Path:
    """Return the program `helm`, compiled if it is not there yet: some minutes on two cores, once."""
    return go_programs.ensure(HELM, announce) / "helm"
