"""
The network of a test cluster: one namespace for the control plane, one for each node, a bridge between them.

Nothing of it touches the machine's own network, so any number of clusters may have the
same addresses, and the kernel takes all of it back with the last process inside.
"""

import sys
from pathlib import Path

from tests.testbed import relay
from tests.testbed.kube_conf import CONTROL, CONTROL_NAMESPACE, OUTSIDE, node_address, pod_range
from tests.testbed.runs import Run
from tests.testbed.slurm_daemons import Daemons, wait_until

RELAY = Path(relay.__file__)


class Network:
    def __init__(self, run: Run, root: Path, daemons: Daemons) -> None:
        self._run = run
        self._root = root
        self._daemons = daemons

    def make_control(self) -> None:
        """Make the control plane's namespace, with the bridge that the nodes are plugged into."""
        self._ip(
            f"netns add {CONTROL_NAMESPACE}",
            f"-n {CONTROL_NAMESPACE} link set lo up",
            f"-n {CONTROL_NAMESPACE} address add {OUTSIDE}/32 dev lo",
            f"-n {CONTROL_NAMESPACE} link add nodes type bridge",
            f"-n {CONTROL_NAMESPACE} address add {CONTROL}/24 dev nodes",
            f"-n {CONTROL_NAMESPACE} link set nodes up",
        )
        self._forward(CONTROL_NAMESPACE)

    def make_node(self, node: str) -> None:
        self._ip(
            f"netns add {node}",
            f"-n {node} link set lo up",
            f"-n {CONTROL_NAMESPACE} link add to-{node} type veth peer name eth0 netns {node}",
            f"-n {CONTROL_NAMESPACE} link set to-{node} master nodes up",
            f"-n {node} address add {node_address(node)}/24 dev eth0",
            f"-n {node} link set eth0 up",
            f"-n {node} route add default via {CONTROL}",
            f"-n {CONTROL_NAMESPACE} route add {pod_range(node)} via {node_address(node)}",
        )
        self._forward(node)

    def plug(self, node: str, *, into: bool) -> None:
        """Plug *node* into the bridge, or pull the plug: it lives on, and nobody hears of it."""
        self._ip(f"-n {CONTROL_NAMESPACE} link set to-{node} {'up' if into else 'down'}")

    def reach(self, name: str, port: int, *, to: str) -> None:
        """Let *port* of this machine's loopback be the cluster's *to*."""
        self._relay(name, "-", f"127.0.0.1:{port}", self._place(CONTROL_NAMESPACE), to)

    def lend(self, name: str, port: int, *, to: str) -> None:
        """Let the cluster's *to* be *port* of this machine's loopback."""
        self._relay(name, self._place(CONTROL_NAMESPACE), to, "-", f"127.0.0.1:{port}")

    def _relay(self, name: str, *arguments: str) -> None:
        self._daemons.launch(name, sys.executable, "-I", "-S", str(RELAY), *arguments, root=Path("/"))
        said = self._run.folder / "log" / f"{name}.out"
        wait_until(lambda: relay.READY in said.read_text(), f"`{name}` to listen", within=60)

    def _place(self, namespace: str) -> str:
        """Return the file of *namespace* as it is seen with the machine's own root folder."""
        return f"{self._root}/run/netns/{namespace}"

    def _ip(self, *lines: str) -> None:
        self._daemons.command("sh", "-ec", "\n".join(f"ip {line}" for line in lines))

    def _forward(self, namespace: str) -> None:
        switch = "echo 1 >/proc/sys/net/ipv4/ip_forward"
        self._daemons.command("nsenter", f"--net=/run/netns/{namespace}", "sh", "-c", switch)
