"""
A real Ray head on this machine, for tests.

    with RayHead() as head:
        print(head.url, head.version)

It listens on loopback only and lives in namespaces of its own (``keeper``), so that nothing
of it outlives its owner; Ray itself comes from the package index, pinned in
``requirements/ray.txt``, into an environment in the cache. `kill` ends all of it at once, as
the loss of its machine would; `start` then begins a new run at the same address, which
knows nothing of the one before.
"""

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.testbed import runs
from tests.testbed.machine import Announce, TestbedUnavailable, silent, why_not
from tests.testbed.ports import Ports

ENVIRONMENT = Path(__file__).resolve().parents[2] / "tools" / "environment.py"
INSIDE = Path("/mnt")
"""Where the head's files lie inside: Ray's socket paths are long, and limited to 107 bytes."""
SHARED_MEMORY = "/dev/shm"
PATIENCE = 120.0
TRIES = 3
"""Ray gives itself half a minute to come up, which a machine that has much to do may not have."""


class NotUp(Exception):
    """The head did not come up in time, or not at all."""


def programs(announce: Announce = silent) -> Path:
    """Return the folder of Ray's programs, installed first where that was not done yet."""
    announce("testbed: looking for Ray, which is installed once and takes some minutes then")
    done = subprocess.run([sys.executable, ENVIRONMENT, "ray"], capture_output=True, text=True)
    if done.returncode:
        raise TestbedUnavailable(f"Ray could not be installed: {done.stderr.strip().splitlines()[-1:]}")
    return Path(done.stdout.strip())


class RayHead:
    """Started by `start`, gone without a trace after `stop`; as a context manager, both."""

    def __init__(self, *, token: str = "", cpus: int = 4, announce: Announce = silent) -> None:
        self.token = token
        self._cpus = cpus
        self._announce = announce
        self._claims: Ports | None = None
        self._run: runs.Run | None = None

    def start(self) -> None:
        """Start a head without jobs, at the address of the one before if there was one; return when it answers."""
        if reason := why_not():
            raise TestbedUnavailable(reason)
        runs.sweep()
        bin_folder = programs(self._announce)
        self._claims = self._claims or Ports(9)
        for left in reversed(range(TRIES)):
            try:
                self._start(bin_folder)
                return
            except NotUp as slow:
                self.kill()
                if not left:
                    self.stop()
                    raise TestbedUnavailable(str(slow)) from slow
            except BaseException:
                self.stop()
                raise

    def _start(self, bin_folder: Path) -> None:
        folder = runs.new_folder()
        self._run = runs.keep(folder, [], {})
        (folder / "ray").mkdir()
        self._inside("mount", "-t", "proc", "proc", "/proc")
        self._inside("mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", SHARED_MEMORY)
        self._inside("mount", "--bind", str(folder / "ray"), str(INSIDE))
        try:
            self._inside("env", "-i", *self._settings(bin_folder, folder), str(bin_folder / "ray"), *self._arguments())
            self._wait()
        except TestbedUnavailable as slow:
            raise NotUp(f"{slow}\n{self._logs(folder)}") from slow

    def kill(self) -> None:
        """End every process of it at once; its address stays ours."""
        if self._run is not None:
            self._run.stop()
        self._run = None

    def stop(self) -> None:
        """End it and give its ports back."""
        self.kill()
        if self._claims is not None:
            self._claims.release()
        self._claims = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def url(self) -> str:
        if self._claims is None:
            raise RuntimeError("this head was not started")
        return f"http://127.0.0.1:{self._claims.numbers[1]}"

    @property
    def gcs_url(self) -> str:
        """Return the address that people confuse with `url`: Ray's own port, where no HTTP is spoken."""
        if self._claims is None:
            raise RuntimeError("this head was not started")
        return f"http://127.0.0.1:{self._claims.numbers[0]}"

    def _settings(self, bin_folder: Path, folder: Path) -> list[str]:
        settings = {
            "PATH": f"{bin_folder}:{os.defpath}",
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "100",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # or it would take 127.0.0.1 for the machine's other address
        }
        if self.token:
            settings |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token}
        return [f"{name}={value}" for name, value in settings.items()]

    def _arguments(self) -> list[str]:
        if self._claims is None:
            raise RuntimeError("this head has no ports")
        names = (
            *("port", "dashboard-port", "node-manager-port", "object-manager-port", "dashboard-agent-listen-port"),
            *("dashboard-agent-grpc-port", "metrics-export-port", "runtime-env-agent-port", "ray-client-server-port"),
        )
        ports = [
            part
            for name, number in zip(names, self._claims.numbers, strict=True)
            for part in (f"--{name}", str(number))
        ]
        return [
            *("start", "--head", "--disable-usage-stats", "--include-dashboard", "true"),
            *("--node-ip-address", "127.0.0.1", "--dashboard-host", "127.0.0.1", *ports),
            *("--min-worker-port", "0", "--max-worker-port", "0"),
            *("--num-cpus", str(self._cpus), "--memory", "1000000000", "--object-store-memory", "80000000"),
            *("--temp-dir", str(INSIDE / "r")),
        ]

    def _inside(self, *argv: str) -> None:
        assert self._run is not None
        done = subprocess.run(
            self._run.enter(Path("/"), *argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        if done.returncode:
            raise TestbedUnavailable(f"`{argv[0]}` failed for Ray: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    def _wait(self) -> None:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        ends = time.monotonic() + PATIENCE
        while True:
            try:
                with urllib.request.urlopen(
                    urllib.request.Request(f"{self.url}/api/jobs/", headers=headers), timeout=5
                ):
                    return
            except OSError as trouble:
                if time.monotonic() > ends:
                    raise TestbedUnavailable(f"Ray did not answer within {PATIENCE:.0f} s: {trouble}") from trouble
                time.sleep(0.1)

    def _logs(self, folder: Path) -> str:
        parts = []
        for path in sorted(folder.glob("ray/r/session_latest/logs/*.err")):
            tail = path.read_text(errors="replace").splitlines()[-5:]
            parts += [f"--- {path.name}", *tail] if tail else []
        return "\n".join(parts)
