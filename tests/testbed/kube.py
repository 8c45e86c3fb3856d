"""
A real Kubernetes cluster on this machine, for tests: a control plane alone, or with nodes that run pods.

    with KubeCluster(KubeSpec(nodes=2)) as cluster:
        print(cluster.kubectl("get", "nodes"), cluster.kubeconfig)

All of it lives in namespaces of its own (``keeper``, ``kube_network``). ``kube_control`` and
``kube_node`` start its programs, ``kube_conf`` says how they are set up, ``kube_fixtures``
offers it to tests, ``python -m tests.testbed`` to people.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.testbed import kube_parts, runs
from tests.testbed.kube_conf import CONTROL_NAMESPACE, OUTSIDE, KubePorts, KubeSpec
from tests.testbed.kube_control import ControlPlane
from tests.testbed.kube_identity import Identities
from tests.testbed.kube_network import Network
from tests.testbed.kube_node import Nodes
from tests.testbed.kube_rest import KubeRest
from tests.testbed.machine import Announce, TestbedUnavailable, silent, why_not
from tests.testbed.ports import Ports
from tests.testbed.slurm_daemons import CommandFailed, Daemons, wait_until

__all__ = ["CommandFailed", "KubeCluster", "KubeSpec", "TestbedUnavailable"]

PROGRAMS = Path("/tmp/programs")
"""Where the compiled programs are seen from inside."""

ADMIN = "admin"


class KubeCluster:
    """Started by `start`, gone without a trace after `stop`; as a context manager, both."""

    def __init__(self, spec: KubeSpec, *, announce: Announce = silent) -> None:
        self.spec = spec
        self.nodes = spec.node_names
        self._announce = announce
        self._folder: Path | None = None
        self._claims: Ports | None = None
        self._run: runs.Run | None = None

    # Life

    def start(self) -> None:
        """Build what is missing, start every program, and return when all nodes are ready for pods."""
        if reason := why_not():
            raise TestbedUnavailable(reason)
        runs.sweep()
        self._parts = kube_parts.ensure(self._announce)
        self._claims = Ports(1 if self.nodes else 3)
        self._folder = runs.new_folder()
        try:
            self._open()
            self._lay_out()
            self._start_all()
        except BaseException as error:
            error.add_note(self.logs())
            self.stop()
            raise

    def _open(self) -> None:
        for name in ("etc", "log", "pids", "etcd", "images", "cni", "kubelet", "container-logs"):
            (self.folder / name).mkdir(mode=0o700 if name == "etcd" else 0o755)
        binds = {
            **{str(PROGRAMS / name): str(path) for name, path in self._parts.programs.items()},
            "/var/lib/cni": f"{self.folder}/cni",
            "/var/lib/kubelet": f"{self.folder}/kubelet",
            "/var/log/containers": f"{self.folder}/container-logs",
        }
        self._run = runs.keep(self.folder, [self._parts.root], binds)
        self._daemons = Daemons(self._run, self._parts.root, {"HOME": str(self.folder)})
        self._network = Network(self._run, self._parts.root, self._daemons)

    def _lay_out(self) -> None:
        assert self._claims is not None
        self._identities = Identities(self.folder / "etc", self._daemons)
        self._port, *others = self._claims.numbers
        ports = KubePorts() if self.nodes else KubePorts(self._port, *others)
        self.control = ControlPlane(self.spec, self.folder, ports, self._identities, programs=PROGRAMS)
        self.control.reached_at = self.url
        self._nodes = Nodes(self.folder, self._identities, programs=PROGRAMS, api=self.control.address)
        self.control.lay_out()
        self.kubeconfig = self._identities.by_token(ADMIN, self.url)
        self.kubeconfig_inside = self._identities.by_token(ADMIN, self.control.address, to="admin-inside")
        self.rest = KubeRest(self.url, self.folder / "etc/ca.crt", self._identities.tokens[ADMIN])

    def _start_all(self) -> None:
        if self.nodes:
            self._network.make_control()
            self._network.reach("relay.api", self._port, to=self.control.address.removeprefix("https://"))
            self._nodes.guard_settings()
        self.control.launch("etcd")
        self.control.launch("kube-apiserver")
        for node in self.nodes:
            self._network.make_node(node)
            self._nodes.lay_out(node)
            self._nodes.launch_containerd(node)
        for node in self.nodes:
            self._nodes.wait_for_containerd(node)
            for image in self._parts.images:
                self._nodes.load(node, self._brought(image))
        self.control.start_rest()
        for node in self.nodes:
            self._nodes.launch_kubelet(node)
        self.wait_for_nodes(*self.nodes)
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        wait_until(lambda: self.rest.get(account) is not None, "the default service account", within=60)

    def stop(self) -> None:
        """End every program inside, whatever it does, and remove mounts and files."""
        if self._run is not None:
            self._run.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._claims is not None:
            self._claims.release()
        self._run = self._folder = self._claims = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    # What a client needs

    @property
    def folder(self) -> Path:
        if self._folder is None:
            raise RuntimeError("this cluster is not running")
        return self._folder

    @property
    def url(self) -> str:
        """Where the API server is for the tests. Pods and what runs `inside` have the same by `kubeconfig_inside`."""
        return f"https://127.0.0.1:{self._port}"

    def kubeconfig_of(self, user: str, *groups: str, inside: bool = False) -> Path:
        """Return a kubeconfig of a person, whoever that is; what they may do is for RBAC to say."""
        return self._identities.by_certificate(user, groups, self.control.address if inside else self.url)

    def kubectl(self, *argv: str, stdin: str = "", check: bool = True, within: float = 60) -> str:
        """Run kubectl as the administrator and return what it prints."""
        done = subprocess.run(
            self.kubectl_line(*argv),
            input=stdin,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=within,
        )
        if check and done.returncode != 0:
            raise CommandFailed(f"`kubectl {' '.join(argv)}` ended with {done.returncode}: {done.stderr + done.stdout}")
        return done.stdout

    def kubectl_line(self, *argv: str) -> list[str]:
        """Return the command line for one that a test starts itself, as one that stays: `logs -f`. See `environment`."""
        return [str(self._parts.kubectl), *argv]

    def environment(self, kubeconfig: Path | None = None) -> dict[str, str]:
        """Return the environment in which kubectl, helm and Bascule find this cluster."""
        path = f"{self._parts.kubectl.parent}:{os.environ.get('PATH', os.defpath)}"
        return {**os.environ, "PATH": path, "HOME": str(self.folder), "KUBECONFIG": str(kubeconfig or self.kubeconfig)}

    def apply(self, *objects: dict[str, Any] | str) -> None:
        """Apply objects, given as such or as YAML."""
        documents = [one if isinstance(one, str) else json.dumps(one) for one in objects]
        self.kubectl("apply", "--filename=-", stdin="\n---\n".join(documents))

    def load(self, image: Path) -> None:
        """Let every node have the image in the archive *image*, as a registry would."""
        brought = self._brought(image)
        for node in self.nodes:
            self._nodes.load(node, brought)

    def _brought(self, image: Path) -> Path:
        """Return a copy of *image* where the nodes see it."""
        copy = self.folder / "images" / image.name
        if not copy.exists():
            try:
                copy.hardlink_to(image)
            except OSError:
                shutil.copy(image, copy)
        return copy

    def lend(self, port: int) -> str:
        """Let pods reach *port* of this machine's loopback, as that of a manager outside; return its HOST:PORT for them."""
        name, there = f"relay.lent.{port}", f"{OUTSIDE}:{port}"
        if not self._daemons.pid(name):
            self._network.lend(name, port, to=there)
        return there

    def share(self, folder: Path) -> Path:
        """Let nodes see *folder* of this machine under its own name, as a file system that all mount; return it."""
        assert self._run is not None
        there = f"{self._parts.root}{folder}"
        command = 'mkdir -p "$1" && { mountpoint -q "$1" || mount --bind "$0" "$1"; }'
        subprocess.run(self._run.enter(Path("/"), "sh", "-c", command, str(folder), there), check=True)
        return folder

    def inside(self, *argv: str, node: str = "") -> list[str]:
        """Return the command line that runs a program of this machine in the cluster's network; it ends with the cluster."""
        assert self._run is not None
        place = f"{self._parts.root}/run/netns/{node or CONTROL_NAMESPACE}"
        return self._run.enter(Path("/"), "nsenter", f"--net={place}", *argv)

    # What a judge needs

    def requests(self, user: str = "") -> Iterator[dict[str, Any]]:
        """Give what people and programs asked of the API server, as its audit log has it, oldest first."""
        whole, _, _ = (self.folder / "log/audit.jsonl").read_text().rpartition("\n")
        for line in whole.splitlines():
            event = json.loads(line)
            if not user or event["user"].get("username") == user:
                yield event

    def logs(self, lines: int = 10) -> str:
        """Return the end of every log, for the message of a test that failed."""
        parts = []
        for path in sorted((self.folder / "log").glob("*.out")):
            tail = path.read_text(errors="replace").splitlines()[-lines:]
            parts += [f"--- {path.name}", *(line[:300] for line in tail)] if tail else []
        return "\n".join(parts)

    def processes(self, node: str = "") -> list[str]:
        """Return the command lines of all that runs inside, or on *node*."""
        found = self._nodes.on_node(node) if node else self._daemons.processes()
        return [process.command for process in found if not process.is_dead]

    # Faults: of a program of the control plane, by its name (`etcd`, `kube-apiserver`, ...), or of a node's (`kubelet.node-1`)

    def kill(self, program: str) -> None:
        self._daemons.end(program, "KILL")

    def start_again(self, program: str) -> None:
        """Start a *program* of the control plane that was killed, and return when it does its work."""
        self.control.start(program)

    def restart(self, program: str) -> None:
        self.kill(program)
        self.start_again(program)

    def freeze(self, program: str) -> None:
        """Let *program* be silent: its connections stay open, and nothing comes. `relay.api` is the tests' way in."""
        self._daemons.kill([self._daemons.pid(program)], "STOP")

    def thaw(self, program: str) -> None:
        self._daemons.kill([self._daemons.pid(program)], "CONT")

    def take_away(self, program: str, how: str) -> None:
        """Let *program* be `killed` or `frozen`."""
        (self.kill if how == "killed" else self.freeze)(program)

    def bring_back(self, program: str, how: str) -> None:
        """Undo `take_away`."""
        (self.start_again if how == "killed" else self.thaw)(program)

    def compact(self) -> None:
        """Let etcd forget what objects were before, as it does each five minutes."""
        self.control.compact()

    def kill_node(self, node: str) -> None:
        """Let *node* die with all that runs on it; the cluster notices after `KubeSpec.node_grace` seconds."""
        while doomed := self._nodes.on_node(node):
            self._daemons.kill(process.pid for process in doomed)

    def start_node(self, node: str) -> None:
        """Switch *node* on again, and return when it is ready."""
        self._nodes.launch_containerd(node)
        self._nodes.wait_for_containerd(node)
        self._nodes.launch_kubelet(node)
        self.wait_for_nodes(node)

    def cut_node(self, node: str) -> None:
        """Pull the network plug of *node*: what runs on it goes on, and nobody hears of it."""
        self._network.plug(node, into=False)

    def mend_node(self, node: str) -> None:
        self._network.plug(node, into=True)
        self.wait_for_nodes(node)

    def wait_for_nodes(self, *nodes: str) -> None:
        def are_ready() -> bool:
            return all(self._is_ready(node) for node in nodes)

        wait_until(are_ready, f"nodes {', '.join(nodes)} to be ready", within=120)

    def _is_ready(self, node: str) -> bool:
        found = self.rest.get(f"/api/v1/nodes/{node}")
        if found is None or any(taint["effect"] == "NoExecute" for taint in found["spec"].get("taints", ())):
            return False
        conditions = {one["type"]: one["status"] for one in found["status"].get("conditions", ())}
        return conditions.get("Ready") == "True"
