"""
The programs of a test cluster: how each is laid out, started and waited for.

``slurm`` decides when; ``slurm_daemons`` knows how anything is started in the namespaces.
"""

import os
import socket
from collections.abc import Callable
from pathlib import Path

from tests.testbed.slurm_conf import (
    SlurmPorts,
    SlurmSpec,
    cgroup_conf,
    gres_conf,
    rest_plugins,
    slurm_conf,
    slurmdbd_conf,
)
from tests.testbed.slurm_daemons import CommandFailed, Daemons, wait_until
from tests.testbed.slurm_roots import DATABASE_ROOT, REST_USER, REST_VERSIONS, ROOTS


def lay_out(spec: SlurmSpec, folder: Path, ports: SlurmPorts) -> None:
    """Make the folders, keys and configuration files that the programs find in *folder*."""
    for name in ("etc", "run", "log", "state", "spool", "pids", "jobs", "home"):
        (folder / name).mkdir()
    (folder / "jobs").chmod(0o1777)
    for user in ROOTS[spec.version].users:
        home = folder / "home" / user
        home.mkdir(0o700)
        os.chown(home, ROOTS[spec.version].user_id(user), ROOTS[spec.version].user_id(user))
    for name in spec.node_names:
        (folder / "spool" / name).mkdir()
    files = {
        "munge.key": (os.urandom(1024), 0o400),
        "jwt_hs256.key": (os.urandom(32), 0o600),
        "slurm.conf": (slurm_conf(spec, folder, ports).encode(), 0o644),
        "gres.conf": (gres_conf(spec, folder).encode(), 0o644),
        "cgroup.conf": (cgroup_conf(spec).encode(), 0o644),
        "gpu0": (b"", 0o666),
        "gpu1": (b"", 0o666),
    }
    if spec.accounting:
        files["slurmdbd.conf"] = (slurmdbd_conf(folder, ports).encode(), 0o600)
    for name, (content, mode) in files.items():
        path = folder / "etc" / name
        path.touch(mode)
        path.write_bytes(content)
        path.chmod(mode)


class Programs:
    def __init__(self, spec: SlurmSpec, folder: Path, ports: SlurmPorts, daemons: Daemons) -> None:
        self.daemons = daemons
        self._spec = spec
        self._folder = folder
        self._ports = ports

    def start_all(self) -> None:
        """Start everything, and return when every node is ready for jobs."""
        self._start_munge()
        if self._spec.accounting:
            self._start_accounting()
        self._launch_controller()
        for name in self._spec.node_names:
            self.launch_node(name)
        self.start_rest()
        self.wait_for_nodes(*self._spec.node_names)

    def start_controller(self) -> None:
        try:
            self._launch_controller()
        except CommandFailed:
            # Killed before its first full save, one with accounting refuses to start over nothing.
            self._launch_controller("-i")

    def launch_node(self, name: str) -> None:
        self.daemons.launch(f"slurmd.{name}", "slurmd", "-D", "-N", name)

    def start_rest(self) -> None:
        plugins = rest_plugins(self._spec, REST_VERSIONS[self._spec.version])
        who = ("-u", REST_USER, "-g", REST_USER)  # not root, not SlurmUser, and 26.05 refuses nobody
        options = ("-s", plugins, "-a", "rest_auth/jwt", *who)
        self.daemons.launch("slurmrestd", "SLURM_JWT=daemon", "slurmrestd", *options, f"127.0.0.1:{self._ports.rest}")
        self._wait_for_port("slurmrestd", self._ports.rest)

    def wait_for_nodes(self, *names: str) -> None:
        def are_up() -> bool:
            states = self.daemons.command("sinfo", "-h", "-N", "-p", "main", "-n", ",".join(names), "-o", "%t").split()
            return len(states) == len(names) and set(states) <= {"idle", "mix", "alloc", "comp"}

        wait_until(are_up, f"nodes {', '.join(names)} to be up", within=60)

    def on_node(self, name: str) -> list[int]:
        """Return what runs on node *name*, those first who could tell the controller of the others' end."""
        processes = self.daemons.processes()
        daemon = [process.pid for process in processes if process.pid == self.daemons.pid(f"slurmd.{name}")]
        jobs = [process for process in processes if f"SLURMD_NODENAME={name}" in process.environment]
        over = {process.parent for process in jobs}
        steps = [
            process.pid
            for process in processes
            if process.command.startswith("slurmstepd") and (process.pid in over or process.parent in daemon)
        ]
        return [*daemon, *steps, *(process.pid for process in jobs)]

    def _start_munge(self) -> None:
        files = [f"--key-file={self._folder}/etc/munge.key", f"--log-file={self._folder}/log/munged.log"]
        files += [f"--{kind}-file={self._folder}/run/munge.{kind}" for kind in ("pid", "seed")]
        where = self._folder / "run/munge.socket"
        self.daemons.launch("munged", "munged", "--foreground", *files, f"--socket={where}")
        self._wait_for("munged", where.exists, "making its socket")

    def _start_accounting(self) -> None:
        data, database = self._folder / "mysql", DATABASE_ROOT.path
        self.daemons.command("cp", "-a", "/var/lib/mysql", str(data), root=database)
        settings = ["--no-defaults", "--user=mysql", f"--datadir={data}", f"--socket={data}/socket"]
        settings += ["--bind-address=127.0.0.1", f"--port={self._ports.database}", "--skip-name-resolve"]
        settings += ["--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M", "--innodb-lock-wait-timeout=900"]
        settings += ["--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync"]  # gone with the cluster
        self.daemons.launch("mariadb", "mariadbd", *settings, root=database)
        self._wait_for_port("mariadb", self._ports.database)
        grant = "create database slurm_acct_db; grant all on slurm_acct_db.* to slurm@'127.0.0.1' identified by 'slurm'"
        self.daemons.command("mariadb", "--no-defaults", "-S", f"{data}/socket", "-uroot", "-e", grant, root=database)
        self.daemons.launch("slurmdbd", "slurmdbd", "-D")
        self._wait_for_port("slurmdbd", self._ports.accounting)

    def _launch_controller(self, *options: str) -> None:
        self.daemons.launch("slurmctld", "slurmctld", "-D", *options)
        # An open port is not enough: 26.05 listens before it reads its state, and may die of that.
        ping = ("scontrol", "ping")
        self._wait_for("slurmctld", lambda: "is UP" in self.daemons.command(*ping, check=False), "answering")

    def _wait_for_port(self, name: str, port: int) -> None:
        def is_open() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        self._wait_for(name, is_open, f"listening on port {port}")

    def _wait_for(self, name: str, is_so: Callable[[], bool], doing: str) -> None:
        def is_so_or_dead() -> bool:
            if is_so():
                return True
            if not self.daemons.is_alive(name):
                raise CommandFailed(f"`{name}` ended instead of {doing}")
            return False

        wait_until(is_so_or_dead, f"`{name}`, {doing}", within=60)
