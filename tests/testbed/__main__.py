"""
The testbed by hand, as root.

    python -m tests.testbed build [NAME ...]             build what is cached, all if nothing is named
    python -m tests.testbed run VERSION [--accounting] [COMMAND ...]
    python -m tests.testbed kube [--nodes N] [--image] [--slurm VERSION] [COMMAND ...]

``run`` starts a Slurm cluster, runs COMMAND (a shell if there is none) with LAB_URL, LAB_USER,
LAB_TOKEN and LAB_JOBS in its environment, and ends the cluster with it. Slurm's own
commands: ``$LAB squeue``.

``kube`` starts a Kubernetes cluster with kubectl and helm on the PATH and KUBECONFIG set; with
``--image`` its nodes have the image of Bascule (LAB_IMAGE), with ``--slurm`` a Slurm cluster
runs beside it, with accounting; LAB_URL is where pods find it, and nodes see LAB_JOBS too. ``$NODES kill node-1`` and
``$NODES start node-1`` do that to a node.
"""

import argparse
import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable

from tests.testbed import helm, image, kube_parts
from tests.testbed.kube import KubeCluster, KubeSpec
from tests.testbed.kube_switch import Switch
from tests.testbed.machine import Announce, TestbedUnavailable
from tests.testbed.roots import ensure
from tests.testbed.slurm import SlurmCluster, SlurmSpec
from tests.testbed.slurm_roots import ROOTS

CACHED: dict[str, Callable[[Announce], object]] = {
    **{version: (lambda announce, root=root: ensure(root, announce)) for version, root in ROOTS.items()},
    "kube": kube_parts.ensure,
    "helm": helm.ensure,
    "image": image.ensure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.testbed", description="The testbed by hand, as root.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    build = verbs.add_parser("build", help="build what is cached, all if nothing is named")
    build.add_argument("name", nargs="*", metavar="NAME", help=", ".join(CACHED))
    run = verbs.add_parser("run", help="start a Slurm cluster, run a command beside it, end both")
    run.add_argument("version", choices=list(ROOTS))
    run.add_argument("--accounting", action="store_true", help="with slurmdbd and MariaDB")
    run.add_argument("command", nargs=argparse.REMAINDER)
    kube = verbs.add_parser("kube", help="start a Kubernetes cluster, run a command beside it, end both")
    kube.add_argument("--nodes", type=int, default=2, help="how many; 0 for a control plane alone")
    kube.add_argument("--image", action="store_true", help="with the image of Bascule in its nodes")
    kube.add_argument("--slurm", choices=list(ROOTS), metavar="VERSION", help="with a Slurm cluster beside it")
    kube.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if arguments.verb == "build" and (unknown := set(arguments.name) - set(CACHED)):
        parser.error(f"nothing is called {', '.join(sorted(unknown))}; known: {', '.join(CACHED)}")
    try:
        match arguments.verb:
            case "run":
                return _run(SlurmSpec(version=arguments.version, accounting=arguments.accounting), arguments.command)
            case "kube":
                return _kube(arguments)
            case _:
                for name, build_it in CACHED.items():
                    if not arguments.name or name in arguments.name:
                        build_it(_say)
    except TestbedUnavailable as problem:
        _say(f"testbed: {problem}")
        return 1
    return 0


def _run(spec: SlurmSpec, command: list[str]) -> int:
    with SlurmCluster(spec, announce=_say) as cluster:
        _say(f"testbed: Slurm {spec.version} at {cluster.url}, REST {', '.join(cluster.rest_versions)}")
        return _call(command, {**os.environ, **_slurm_variables(cluster, cluster.url)})


def _kube(arguments: argparse.Namespace) -> int:
    program = helm.ensure(_say)
    archive = image.ensure(_say) if arguments.image else None
    with contextlib.ExitStack() as until_the_end:
        cluster = until_the_end.enter_context(KubeCluster(KubeSpec(nodes=arguments.nodes), announce=_say))
        environment = cluster.environment()
        environment["PATH"] = f"{program.parent}:{environment['PATH']}"
        if arguments.nodes:
            switch = until_the_end.enter_context(Switch(cluster))
            environment["NODES"] = shlex.join(switch.command)
        if archive is not None:
            cluster.load(archive)
            environment["LAB_IMAGE"] = image.IMAGE
        if arguments.slurm:
            slurm = until_the_end.enter_context(
                SlurmCluster(SlurmSpec(version=arguments.slurm, accounting=True), announce=_say)
            )
            if arguments.nodes:
                cluster.share(slurm.jobs_dir)
            there = f"http://{cluster.lend(slurm.ports.rest)}" if arguments.nodes else slurm.url
            environment |= _slurm_variables(slurm, there)
        _say(f"testbed: Kubernetes {kube_parts.KUBERNETES_VERSION} at {cluster.url}, {arguments.nodes} nodes")
        return _call(arguments.command, environment)


def _slurm_variables(cluster: SlurmCluster, url: str) -> dict[str, str]:
    return {
        "LAB_URL": url,
        "LAB_USER": cluster.user,
        "LAB_TOKEN": cluster.token(lifespan=86_400),
        "LAB_JOBS": str(cluster.jobs_dir),
        "LAB": shlex.join(cluster.inside()),
    }


def _call(command: list[str], environment: dict[str, str]) -> int:
    return subprocess.call(command or [os.environ.get("SHELL", "sh")], env=environment)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
