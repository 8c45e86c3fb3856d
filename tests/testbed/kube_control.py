"""
The control plane of a test cluster: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, CoreDNS.

Alone it listens on this machine's loopback at ports of its own. With nodes it lives in a
network namespace together with them, and a relay brings the tests to its API server.
"""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tests.testbed.kube_conf import (
    AUDIT_POLICY,
    CONTROL,
    CONTROL_NAMESPACE,
    FIRST_SERVICE,
    OUTSIDE,
    OUTSIDE_NAME,
    SERVICES,
    KubePorts,
    KubeSpec,
    corefile,
)
from tests.testbed.kube_identity import Identities
from tests.testbed.slurm_daemons import CommandFailed, wait_until

PATIENCE = 120
"""Seconds that a program has for its start: much, on a machine where others compile."""


class ControlPlane:
    def __init__(
        self,
        spec: KubeSpec,
        folder: Path,
        ports: KubePorts,
        identities: Identities,
        *,
        programs: Path,
    ) -> None:
        self._spec = spec
        self._folder = folder
        self._ports = ports
        self._identities = identities
        self._daemons = identities.daemons
        self._programs = programs
        """The folder, seen from inside, with one folder for each Go module's programs."""
        self._inside = ("nsenter", f"--net=/run/netns/{CONTROL_NAMESPACE}") if spec.nodes else ()
        self._host = CONTROL if spec.nodes else "127.0.0.1"

    @property
    def address(self) -> str:
        """Where the API server is for the cluster's own programs."""
        return f"https://{self._host}:{self._ports.api}"

    @property
    def programs(self) -> tuple[str, ...]:
        """In the order of their start."""
        parts = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
        return (*parts, "coredns") if self._spec.nodes else parts

    def lay_out(self) -> None:
        """Make certificates, tokens and configuration files."""
        identities, etc = self._identities, self._folder / "etc"
        identities.make_authority()
        identities.make_tokens(self._spec.node_names)
        addresses = {self._host, FIRST_SERVICE, "127.0.0.1"}
        names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost")
        alternatives = [*(f"IP:{one}" for one in sorted(addresses)), *(f"DNS:{name}" for name in names)]
        identities.certify("apiserver", "/CN=kube-apiserver", ",".join(alternatives))
        identities.certify("kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client")
        for name in ("controllers", "scheduler", "proxy", "coredns"):
            identities.by_token(name, self.address)
        (etc / "audit.yaml").write_text(AUDIT_POLICY)
        (etc / "Corefile").write_text(corefile(self._folder))
        (etc / "outside-hosts").write_text(f"{OUTSIDE} {OUTSIDE_NAME}\n")
        (etc / "resolv.conf").write_text(f"nameserver {CONTROL}\n")

    def start_rest(self) -> None:
        """Wait for the API server, launched before, and start those that need it."""
        self._wait_for("kube-apiserver", self.is_ready, "answering")
        for name in self.programs[2:]:
            self.launch(name)

    def start(self, name: str) -> None:
        """Start the program *name*, and return when it does its work."""
        self.launch(name)
        if name == "kube-apiserver":
            self._wait_for(name, self.is_ready, "answering")
        if name == "etcd":
            self._wait_for(name, self._store_is_well, "answering")
        if name == "etcd" and self._daemons.is_alive("kube-apiserver"):
            self._wait_for(name, self.is_ready, "letting the API server answer")

    def launch(self, name: str) -> None:
        command = self._command(name)
        self._daemons.launch(name, *self._inside, *command)

    def is_ready(self) -> bool:
        """Tell whether the API server says so, its store and its bootstrap included."""
        trust = ssl.create_default_context(cafile=self._folder / "etc/ca.crt")
        try:
            with urllib.request.urlopen(f"{self.reached_at}/readyz", timeout=5, context=trust) as answer:
                return answer.status == 200
        except (OSError, urllib.error.URLError):
            return False

    def _store_is_well(self) -> bool:
        ask = ("busybox", "wget", "-q", "-O", "-", f"http://127.0.0.1:{self._ports.etcd}/health")
        return '"health":"true"' in self._daemons.command(*self._inside, *ask, check=False)

    def compact(self) -> None:
        """Let etcd drop all revisions but the last."""
        status = json.loads(self._ask_etcd("/v3/maintenance/status", "{}"))
        self._ask_etcd("/v3/kv/compaction", json.dumps({"revision": status["header"]["revision"], "physical": True}))

    def _ask_etcd(self, path: str, body: str) -> str:
        url = f"http://127.0.0.1:{self._ports.etcd}{path}"
        ask = (
            "busybox",
            "wget",
            "-q",
            "-O",
            "-",
            f"--post-data={body}",
            "--header=Content-Type: application/json",
            url,
        )
        return self._daemons.command(*self._inside, *ask)

    reached_at = ""
    """Where the API server is for the tests."""

    def _command(self, name: str) -> list[str]:
        module = {"etcd": "etcd", "coredns": "coredns"}.get(name, "kubernetes")
        return [f"{self._programs}/{module}/{name}", *self._options(name)]

    def _options(self, name: str) -> list[str]:
        etc, ports = self._folder / "etc", self._ports
        etcd = f"http://127.0.0.1:{ports.etcd}"
        peer = f"http://127.0.0.1:{ports.etcd_peer}"
        match name:
            case "etcd":
                return [
                    *(
                        f"--data-dir={self._folder}/etcd",
                        f"--listen-client-urls={etcd}",
                        f"--advertise-client-urls={etcd}",
                    ),
                    *(f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"),
                    *("--name=lab", f"--initial-cluster=lab={peer}", "--logger=zap", "--log-level=warn"),
                    *(() if self._spec.durable else ("--unsafe-no-fsync",)),
                ]
            case "kube-apiserver":
                # Loopback is no address to announce to pods, and without nodes there are none.
                announced = (
                    (f"--advertise-address={CONTROL}",) if self._spec.nodes else ("--endpoint-reconciler-type=none",)
                )
                return [
                    *(
                        f"--etcd-servers={etcd}",
                        f"--bind-address={self._host}",
                        f"--secure-port={ports.api}",
                        *announced,
                    ),
                    *(f"--tls-cert-file={etc}/apiserver.crt", f"--tls-private-key-file={etc}/apiserver.key"),
                    *(f"--client-ca-file={etc}/ca.crt", f"--token-auth-file={etc}/tokens.csv"),
                    *(
                        f"--kubelet-client-certificate={etc}/kubelet-client.crt",
                        f"--kubelet-client-key={etc}/kubelet-client.key",
                    ),
                    *(f"--kubelet-certificate-authority={etc}/ca.crt", "--kubelet-preferred-address-types=InternalIP"),
                    *(f"--service-account-key-file={etc}/sa.pub", f"--service-account-signing-key-file={etc}/sa.key"),
                    *(
                        "--service-account-issuer=https://kubernetes.default.svc",
                        f"--service-cluster-ip-range={SERVICES}",
                    ),
                    *(
                        "--authorization-mode=Node,RBAC",
                        "--enable-admission-plugins=NodeRestriction",
                        "--allow-privileged=true",
                    ),
                    *(f"--audit-policy-file={etc}/audit.yaml", f"--audit-log-path={self._folder}/log/audit.jsonl"),
                    *self._spec.api_options,
                ]
            case "kube-controller-manager":
                return [
                    *self._signing_in("controllers"),
                    *(f"--service-account-private-key-file={etc}/sa.key", "--use-service-account-credentials"),
                    *(f"--root-ca-file={etc}/ca.crt", f"--cluster-signing-cert-file={etc}/ca.crt"),
                    *(
                        f"--cluster-signing-key-file={etc}/ca.key",
                        f"--node-monitor-grace-period={self._spec.node_grace}s",
                    ),
                    "--node-monitor-period=2s",
                ]
            case "kube-scheduler":
                return self._signing_in("scheduler")
            case "coredns":
                return ["-conf", f"{etc}/Corefile"]
            case _:
                raise LookupError(f"the control plane has no program `{name}`")

    def _signing_in(self, who: str) -> list[str]:
        file = self._folder / f"etc/{who}.kubeconfig"
        options = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
        return [*(f"--{option}={file}" for option in options), "--leader-elect=false", "--secure-port=0"]

    def _wait_for(self, name: str, is_so: Callable[[], bool], doing: str) -> None:
        def is_so_or_dead() -> bool:
            if is_so():
                return True
            if not self._daemons.is_alive(name):
                raise CommandFailed(f"`{name}` ended instead of {doing}")
            return False

        wait_until(is_so_or_dead, f"`{name}`, {doing}", within=PATIENCE)
