"""
Write what is generated under ``deploy/``: the chart's CRDs, and the plain manifest made of the chart.

    manifests.py HELM       HELM is the program `helm`; `make manifests` compiles it where it is missing
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

from bascule.platforms.kubernetes.crds import crds

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy" / "chart"
CRDS = CHART / "crds.yaml"
INSTALL = ROOT / "deploy" / "install.yaml"
NAMESPACE = "bascule-system"
HEAD = f"""\
# Bascule for one cluster, in the namespace {NAMESPACE}: what the chart beside this file gives with its defaults.
# Generated; change the chart instead. Say which image to use: kustomize, or `sed s,localhost/bascule:,HOST/bascule:,`.
"""


def crds_text() -> str:
    """Return the CRDs as the chart holds them."""
    return yaml.safe_dump_all(crds(), sort_keys=False, allow_unicode=True, width=120)


def install_text(helm: str) -> str:
    """Return the plain manifest."""
    command = [helm, "template", "bascule", str(CHART), "--namespace", NAMESPACE, "--set", "namespace.create=true"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return HEAD + done.stdout


def main() -> int:
    """Write both; return the exit code."""
    [helm] = sys.argv[1:]
    CRDS.write_text(crds_text())
    INSTALL.write_text(install_text(helm))
    return 0


if __name__ == "__main__":
    sys.exit(main())
