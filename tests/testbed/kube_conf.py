"""How a test cluster is set up, as text. Pure; ``kube_control`` and ``kube_node`` write and use it."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path

CONTROL = "10.250.0.1"
"""Of the API server and of DNS, seen from the nodes and their pods."""

OUTSIDE = "10.251.0.1"
"""Where the pods find what `KubeCluster.lend` lends them, as a manager outside the cluster."""

OUTSIDE_NAME = "outside.test"
SERVICES, FIRST_SERVICE = "10.96.0.0/16", "10.96.0.1"
PODS = "10.244.0.0/16"
CONTROL_NAMESPACE = "control"


@dataclass(frozen=True, slots=True)
class KubeSpec:
    """What a test asks of a cluster."""

    nodes: int = 2
    """None: the control plane alone, on this machine's loopback. Nothing runs there, but all objects live."""
    api_options: tuple[str, ...] = ()
    """Further options of kube-apiserver."""
    node_grace: int = 15
    """Seconds of silence after which a node is taken for dead; 40 in an ordinary cluster."""
    durable: bool = False
    """Whether etcd waits for its disk."""

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(f"node-{number}" for number in range(1, self.nodes + 1))


@dataclass(frozen=True, slots=True)
class KubePorts:
    """Of the control plane; in a network of its own it has those that Kubernetes has."""

    api: int = 6443
    etcd: int = 2379
    etcd_peer: int = 2380


def number(node: str) -> int:
    return int(node.rpartition("-")[2])


def node_address(node: str) -> str:
    return f"10.250.0.{10 + number(node)}"


def pod_range(node: str) -> str:
    return f"10.244.{number(node)}.0/24"


def kubeconfig(url: str, ca: bytes, *, token: str = "", certificate: bytes = b"", key: bytes = b"") -> str:
    """Return one with everything in it, for who signs in by *token* or by *certificate*."""
    user = {"token": token} if token else {"client-certificate-data": _data(certificate), "client-key-data": _data(key)}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": {"server": url, "certificate-authority-data": _data(ca)}}],
            "users": [{"name": "lab", "user": user}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
            "current-context": "lab",
        },
        indent=1,
    )


def _data(content: bytes) -> str:
    return base64.b64encode(content).decode()


# What people and their programs ask of the API server is written down; what its own parts ask is not.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy",
          "system:coredns", "system:anonymous"]
- level: None
  userGroups: ["system:nodes", "system:serviceaccounts:kube-system"]
- level: Metadata
"""


def corefile(folder: Path) -> str:
    return f"""\
.:53 {{
  bind {CONTROL}
  errors
  ready 127.0.0.1:8181
  hosts {folder}/etc/outside-hosts {{
    ttl 1
    reload 1s
    fallthrough
  }}
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {folder}/etc/coredns.kubeconfig
    ttl 2
  }}
}}
"""


def containerd_toml(home: Path) -> str:
    return f"""\
version = 2
root = "{home}/root"
state = "{home}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "{home}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{home}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{home}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""


def cni_conflist(home: Path, node: str) -> str:
    ipam = {
        "type": "host-local",
        "dataDir": f"{home}/ipam",
        "ranges": [[{"subnet": pod_range(node)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": ipam,
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, portmap]}, indent=1)


def kubelet_yaml(folder: Path, home: Path, node: str) -> str:
    return f"""\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {node_address(node)}
healthzPort: 0
tlsCertFile: {folder}/etc/kubelet-{node}.crt
tlsPrivateKeyFile: {folder}/etc/kubelet-{node}.key
authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: true}}, x509: {{clientCAFile: {folder}/etc/ca.crt}}}}
authorization: {{mode: Webhook}}
cgroupDriver: cgroupfs
cgroupRoot: /{folder.name}/{node}
cgroupsPerQOS: true
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
containerRuntimeEndpoint: unix://{home}/containerd.sock
clusterDNS: [{CONTROL}]
clusterDomain: cluster.local
resolvConf: {folder}/etc/resolv.conf
podLogsDir: {home}/pod-logs
evictionHard: {{memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}}
imageGCHighThresholdPercent: 100
localStorageCapacityIsolation: false
nodeStatusUpdateFrequency: 4s
nodeLeaseDurationSeconds: 8
syncFrequency: 10s
"""
