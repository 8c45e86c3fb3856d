"""
Kill real processes of Bascule against real Slurm, as root.

    python -m tests.chaos [--kills 500] [--seed N] [--version 22.05 --version 26.05]

Ends with code 1 where a job ran twice, was lost, or was left behind.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
from pathlib import Path

from bascule.cli import logbook
from tests.chaos.harness import SLURM_CONF, Chaos
from tests.testbed.slurm import SlurmCluster, SlurmSpec, TestbedUnavailable


def main() -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500, help="in all, shared by the versions; default 500")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--version", action="append", choices=["22.05", "24.11", "26.05"])
    arguments = parser.parse_args()
    logbook.set_up(0, least=logging.ERROR)
    versions = arguments.version or ["22.05", "26.05"]
    print(f"seed {arguments.seed}", flush=True)
    faults = 0
    for version in versions:
        spec = SlurmSpec(version=version, accounting=version != "22.05", extra_conf=SLURM_CONF)
        try:
            with SlurmCluster(spec) as cluster, tempfile.TemporaryDirectory(prefix="bascule-chaos-") as folder:
                chaos = Chaos(cluster, Path(folder), seed=arguments.seed, kills_ctld=True, say=_say)
                outcome = chaos.run(-(-arguments.kills // len(versions)))
        except TestbedUnavailable as problem:
            print(f"chaos: {problem}", file=sys.stderr)
            return 1
        print(f"== Slurm {version}\n{outcome.words()}", flush=True)
        faults += len(outcome.verdict.faults)
    return int(faults > 0)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
