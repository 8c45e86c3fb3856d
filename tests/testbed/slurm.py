"""
A real Slurm cluster on this machine, for tests: several versions, with and without accounting.

    with SlurmCluster(SlurmSpec(version="26.05", accounting=True)) as cluster:
        print(cluster.url, cluster.token(), cluster.run("squeue"))

All its programs listen on loopback only, live in namespaces of their own (``keeper``) and
in a root folder with that version's packages (``roots``). ``slurm_conf`` says how it is
set up, ``fixtures`` offers it to tests, ``python -m tests.testbed`` to people.
"""

import shutil
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.testbed import runs
from tests.testbed.machine import Announce, TestbedUnavailable, silent, why_not
from tests.testbed.ports import Ports
from tests.testbed.roots import ensure
from tests.testbed.slurm_conf import SlurmPorts, SlurmSpec
from tests.testbed.slurm_daemons import CommandFailed, Daemons
from tests.testbed.slurm_programs import Programs, lay_out
from tests.testbed.slurm_records import JobRecord, merge
from tests.testbed.slurm_roots import JOB_USER, OTHER_USER, REST_VERSIONS, ROOTS, roots_for
from tests.testbed.slurm_token import sign

__all__ = ["CommandFailed", "JobRecord", "SlurmCluster", "SlurmSpec", "TestbedUnavailable"]


class SlurmCluster:
    """Started by `start`, gone without a trace after `stop`; as a context manager, both."""

    user = JOB_USER
    other_user = OTHER_USER

    def __init__(self, spec: SlurmSpec, *, announce: Announce = silent) -> None:
        self.spec = spec
        self.rest_versions = REST_VERSIONS[spec.version]
        self._root = ROOTS[spec.version]
        self._announce = announce
        self._folder: Path | None = None
        self._claims: Ports | None = None
        self._run: runs.Run | None = None

    # Life

    def start(self) -> None:
        """Build what is missing, start every program, and return when all nodes are idle."""
        if reason := why_not():
            raise TestbedUnavailable(reason)
        runs.sweep()
        roots = [ensure(root, self._announce) for root in roots_for(self.spec.version, accounting=self.spec.accounting)]
        self._claims = Ports(4 + self.spec.nodes)
        controller, rest, accounting, database, *nodes = self._claims.numbers
        self.ports = SlurmPorts(controller, rest, accounting, database, tuple(nodes))
        self._folder = runs.new_folder()
        try:
            lay_out(self.spec, self.folder, self.ports)
            binds = {"/home": f"{self.folder}/home"}
            self._run = runs.keep(self.folder, roots, binds, limits_memory=self.spec.memory_limits)
            self._daemons = Daemons(self._run, roots[0], {"SLURM_CONF": f"{self.folder}/etc/slurm.conf"})
            self._programs = Programs(self.spec, self.folder, self.ports, self._daemons)
            self._programs.start_all()
        except BaseException as error:
            error.add_note(self.logs())
            self.stop()
            raise

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
        return f"http://127.0.0.1:{self.ports.rest}"

    @property
    def jobs_dir(self) -> Path:
        """A folder that jobs and tests see under the same path; every user may write in it."""
        return self.folder / "jobs"

    def token(self, user: str | None = None, lifespan: int = 3600) -> str:
        """Return what `scontrol token` would, also while the controller is down; expired if *lifespan* is negative."""
        return sign(user or self.user, lifespan, key=(self.folder / "etc/jwt_hs256.key").read_bytes())

    # What a judge needs

    def run(self, *argv: str, user: str | None = None, check: bool = True) -> str:
        """Run one of Slurm's commands inside, as root or *user*, and return what it prints."""
        return self._daemons.command(*argv, user=self._ids(user) if user else "", check=check)

    def inside(self, *argv: str, user: str | None = None) -> list[str]:
        """Return the command line for one that a test starts itself, as one that stays: `srun`, `salloc`."""
        return self._daemons.line(*argv, user=self._ids(user) if user else "")

    def records(self) -> list[JobRecord]:
        """Return every run of every job that Slurm knows or has known to its end, oldest first."""
        ended = self.folder / "log/ended-runs.txt"
        return merge(self.run("scontrol", "-o", "show", "jobs"), ended.read_text() if ended.exists() else "")

    def processes(self) -> list[str]:
        """Return the command lines of all that runs inside: the daemons, the steps, the jobs."""
        return [process.command for process in self._daemons.processes() if not process.is_dead]

    def logs(self, lines: int = 10) -> str:
        """Return the end of every log, for the message of a test that failed."""
        parts = []
        for path in sorted((self.folder / "log").iterdir()):
            if path.suffix == ".out" and path.with_suffix(".log").exists():
                continue  # the same once more
            tail = path.read_text(errors="replace").splitlines()[-lines:]
            parts += [f"--- {path.name}", *tail] if tail else []
        return "\n".join(parts)

    # Faults

    def kill_ctld(self) -> None:
        """Kill the controller: Slurm forgets what it has not yet saved."""
        self._daemons.end("slurmctld", "KILL")

    def stop_ctld(self) -> None:
        """Stop the controller in good order: it saves its state first."""
        self._daemons.end("slurmctld")

    def start_ctld(self) -> None:
        self._programs.start_controller()

    def stop_rest(self) -> None:
        self._daemons.end("slurmrestd", "KILL")

    def start_rest(self) -> None:
        self._programs.start_rest()

    def restart_rest(self) -> None:
        self.stop_rest()
        self.start_rest()

    def node_down(self, name: str) -> None:
        """Let node *name* die with all that runs on it, and Slurm notice at once."""
        while doomed := self._programs.on_node(name):
            self._daemons.kill(doomed)
        self.run("scontrol", "update", f"nodename={name}", "state=down", "reason=node_down")

    def node_up(self, name: str) -> None:
        self._programs.launch_node(name)
        self._programs.wait_for_nodes(name)  # ReturnToService: it is back when it has registered

    def _ids(self, user: str) -> str:
        number = self._root.user_id(user)
        return f"{number}:{number}"
