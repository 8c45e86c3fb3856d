"""However a test run ends, nothing of its cluster stays: no process, mount, network, cgroup or folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kube_testbed.pods import pod, wait_for
from tests.needs import needs_debian, needs_root
from tests.testbed.kube import KubeSpec
from tests.testbed.kube_conf import CONTROL_NAMESPACE
from tests.testbed.machine import CACHE
from tests.testbed.slurm_daemons import wait_until
from tests.testbed.traces import traces

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300), needs_root, needs_debian]

ROOT = Path(__file__).parents[2]

OWNER = """
import time
from tests.kube_testbed.pods import pod, wait_for
from tests.testbed.kube import KubeCluster, KubeSpec
cluster = KubeCluster(KubeSpec(nodes=1))
cluster.start()
cluster.apply(pod("default", "stays", "exec sleep 600"))
wait_for(cluster, "default", "stays", "Running")
print(cluster.folder, flush=True)
time.sleep(600)
"""


def networks() -> set[str]:
    """Return the network interfaces and namespaces that are named as a cluster's."""
    named = {
        path.name
        for place in ("/sys/class/net", "/run/netns")
        if Path(place).is_dir()
        for path in Path(place).iterdir()
    }
    return {name for name in named if name == "nodes" or "node-" in name or name == CONTROL_NAMESPACE}


def settings() -> list[str]:
    names = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")
    return [f"{name}={Path('/proc/sys', name).read_text()}" for name in names]


def test_stopped(start_kube):
    before = settings()
    cluster = start_kube(KubeSpec(nodes=1))
    folder = cluster.folder
    cluster.apply(pod("default", "stays", "exec sleep 600"))
    wait_for(cluster, "default", "stays", "Running")
    assert {"folder", "process", "cgroup"} <= {line.split()[0] for line in traces(folder)}
    assert not networks()
    assert before == settings()

    cluster.stop()

    assert [] == traces(folder)


def test_owner_killed(kube_cluster):
    # It takes what has been built: in a home of its own it would build again.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(CACHE.parent)}
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert folder.is_dir()

        owner.send_signal(signal.SIGKILL)
        owner.wait()

    wait_until(lambda: not traces(folder), "the keeper to clear up", within=60)
