"""The nodes of a test cluster: containerd, kubelet, kube-proxy and pods, each node in a network namespace of its own."""

from pathlib import Path

from tests.testbed.kube_conf import PODS, cni_conflist, containerd_toml, kubelet_yaml, node_address
from tests.testbed.kube_identity import Identities
from tests.testbed.slurm_daemons import CommandFailed, Process, wait_until

CGROUPS = Path("/sys/fs/cgroup")

# What kubelet insists on, and would set for the whole machine: it finds files that say so already.
# They hold what it wants, as two kubelets that write one file find it empty now and then, and end.
SETTINGS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}


class Nodes:
    def __init__(self, folder: Path, identities: Identities, *, programs: Path, api: str) -> None:
        self._folder = folder
        self._identities = identities
        self._daemons = identities.daemons
        self._programs = programs
        self._api = api

    def guard_settings(self) -> None:
        """Put files before the kernel's settings that kubelet insists on, so that the machine keeps its own."""
        for setting, value in SETTINGS.items():
            own = self._folder / "settings" / setting
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_text(f"{value}\n")
            self._daemons.command("mount", "--bind", str(own), f"/proc/sys/{setting}")

    def lay_out(self, node: str) -> None:
        home = self._home(node)
        for name in ("root", "state", "kubelet", "cni", "ipam", "pod-logs", "opt"):
            (home / name).mkdir(parents=True)
        self._identities.by_token(node, self._api)
        alternatives = f"IP:{node_address(node)},DNS:{node}"
        self._identities.certify(f"kubelet-{node}", f"/O=system:nodes/CN=system:node:{node}", alternatives)
        (home / "cni/10-pods.conflist").write_text(cni_conflist(home, node))
        (home / "containerd.toml").write_text(containerd_toml(home))
        (home / "kubelet.yaml").write_text(kubelet_yaml(self._folder, home, node))
        for hierarchy in _hierarchies():
            _make_cgroup(hierarchy, f"{self._folder.name}/{node}")

    def launch_containerd(self, node: str) -> None:
        command = ("containerd", "-c", f"{self._home(node)}/containerd.toml")
        self._daemons.launch(f"containerd.{node}", *_inside(node), *command)

    def launch_kubelet(self, node: str) -> None:
        """Start kubelet and kube-proxy, which then look for the API server."""
        home, address, inside = self._home(node), node_address(node), _inside(node)
        self._daemons.launch(
            f"kubelet.{node}",
            *(*inside, f"{self._programs}/kubernetes/kubelet", f"--config={home}/kubelet.yaml"),
            *(f"--kubeconfig={self._folder}/etc/{node}.kubeconfig", f"--hostname-override={node}"),
            *(f"--node-ip={address}", f"--root-dir={home}/kubelet", f"--cert-dir={home}/pki"),
        )
        self._daemons.launch(
            f"kube-proxy.{node}",
            *(*inside, f"{self._programs}/kubernetes/kube-proxy", f"--kubeconfig={self._folder}/etc/proxy.kubeconfig"),
            *(f"--hostname-override={node}", "--proxy-mode=iptables", f"--cluster-cidr={PODS}"),
            *("--conntrack-max-per-core=0", f"--healthz-bind-address={address}:10256"),
            f"--metrics-bind-address={address}:10249",
        )

    def wait_for_containerd(self, node: str) -> None:
        def answers() -> bool:
            if not self._daemons.is_alive(f"containerd.{node}"):
                raise CommandFailed(f"containerd of {node} ended instead of answering")
            return "Server:" in self._ctr(node, "version", check=False)

        wait_until(answers, f"containerd of {node} to answer", within=60)

    def load(self, node: str, image: Path) -> None:
        """Import the archive *image*, which must lie in the run's folder or be mounted inside."""
        self._ctr(node, "-n", "k8s.io", "images", "import", str(image))

    def images(self, node: str) -> list[str]:
        return self._ctr(node, "-n", "k8s.io", "images", "ls", "-q").split()

    def on_node(self, node: str) -> list[Process]:
        """Return all that runs on *node*: its programs, the shims of its pods, and what runs in them."""
        pids = {self._daemons.pid(f"{name}.{node}") for name in ("containerd", "kubelet", "kube-proxy")}
        socket = f"{self._home(node)}/containerd.sock"
        alive = [process for process in self._daemons.processes() if not process.is_dead]
        top = {process.pid for process in alive if process.pid in pids or socket in process.command}
        while more := {process.pid for process in alive if process.parent in top} - top:
            top |= more
        return [process for process in alive if process.pid in top]

    def _home(self, node: str) -> Path:
        return self._folder / node

    def _ctr(self, node: str, *argv: str, check: bool = True) -> str:
        return self._daemons.command("ctr", "-a", f"{self._home(node)}/containerd.sock", *argv, check=check)


def _inside(node: str) -> tuple[str, ...]:
    return ("nsenter", f"--net=/run/netns/{node}")


def _hierarchies() -> list[Path]:
    """Return where cgroups are made: once for all controllers, or in a folder for each."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [path for path in CGROUPS.iterdir() if path.is_dir() and path.name != "unified"]


def _make_cgroup(hierarchy: Path, name: str) -> None:
    place = hierarchy
    for part in name.split("/"):
        above, place = place, place / part
        place.mkdir(exist_ok=True)
        for setting in ("cpuset.cpus", "cpuset.mems"):
            if hierarchy != CGROUPS and (place / setting).exists():  # the first version gives its children none
                (place / setting).write_text((above / setting).read_text())
