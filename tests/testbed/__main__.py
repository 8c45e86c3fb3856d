"""
The testbed by hand, as root.

    python -m tests.testbed build [VERSION ...]          build the roots, all if none is named
    python -m tests.testbed run VERSION [--accounting] [COMMAND ...]

``run`` starts a cluster, runs COMMAND (a shell if there is none) with LAB_URL, LAB_USER,
LAB_TOKEN and LAB_JOBS in its environment, and ends the cluster with it. Slurm's own
commands: ``$LAB squeue``.
"""

import argparse
import os
import shlex
import subprocess
import sys

from tests.testbed.machine import TestbedUnavailable
from tests.testbed.roots import ensure
from tests.testbed.slurm import SlurmCluster, SlurmSpec
from tests.testbed.slurm_roots import ROOTS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.testbed", description="The testbed by hand, as root.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    build = verbs.add_parser("build", help="build the roots, all if none is named")
    build.add_argument("version", nargs="*", metavar="VERSION", help=", ".join(ROOTS))
    run = verbs.add_parser("run", help="start a cluster, run a command beside it, end both")
    run.add_argument("version", choices=list(ROOTS))
    run.add_argument("--accounting", action="store_true", help="with slurmdbd and MariaDB")
    run.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if arguments.verb == "build" and (unknown := set(arguments.version) - set(ROOTS)):
        parser.error(f"unknown version {', '.join(sorted(unknown))}; known: {', '.join(ROOTS)}")
    try:
        if arguments.verb == "run":
            return _run(SlurmSpec(version=arguments.version, accounting=arguments.accounting), arguments.command)
        for version, root in ROOTS.items():
            if not arguments.version or version in arguments.version:
                ensure(root, _say)
    except TestbedUnavailable as problem:
        _say(f"testbed: {problem}")
        return 1
    return 0


def _run(spec: SlurmSpec, command: list[str]) -> int:
    with SlurmCluster(spec, announce=_say) as cluster:
        environment = {
            **os.environ,
            "LAB_URL": cluster.url,
            "LAB_USER": cluster.user,
            "LAB_TOKEN": cluster.token(lifespan=86_400),
            "LAB_JOBS": str(cluster.jobs_dir),
            "LAB": shlex.join(cluster.inside()),
        }
        _say(f"testbed: Slurm {spec.version} at {cluster.url}, REST {', '.join(cluster.rest_versions)}")
        return subprocess.call(command or [os.environ.get("SHELL", "sh")], env=environment)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
