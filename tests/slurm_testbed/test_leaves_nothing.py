"""However a test run ends, nothing of its cluster stays: no process, no mount, no folder."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import needs_debian, needs_root
from tests.testbed import runs
from tests.testbed.machine import CACHE
from tests.testbed.slurm import SlurmSpec
from tests.testbed.slurm_daemons import wait_until
from tests.testbed.slurm_rest import submit
from tests.testbed.traces import traces

pytestmark = [pytest.mark.real, pytest.mark.root, needs_root, needs_debian]

ROOT = Path(__file__).parents[2]

OWNER = """
import sys, time
from tests.testbed.slurm import SlurmCluster, SlurmSpec
from tests.testbed.slurm_rest import submit
cluster = SlurmCluster(SlurmSpec(version="22.05", nodes=1, accounting=True, memory_limits=True))
cluster.start()
submit(cluster, "#!/bin/bash\\nsetsid sleep 600 & exec sleep 600")
while not any("sleep" in line for line in cluster.processes()):
    time.sleep(0.1)
print(cluster.folder, flush=True)
time.sleep(600)
"""


@pytest.fixture
def owner():
    """
    Another process with a cluster on which a job runs.
    """
    # It takes what has been built: in a home of its own it would build again.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(CACHE.parent)}
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    with process:
        yield process
        process.kill()


def folder_of(owner: "subprocess.Popen[str]") -> Path:
    assert owner.stdout is not None
    return Path(owner.stdout.readline().strip())


def test_stopped(start_slurm):
    cluster = start_slurm(SlurmSpec(version="22.05", nodes=2, accounting=True, memory_limits=True))
    folder = cluster.folder
    submit(cluster, "#!/bin/bash\nsetsid sleep 600 & exec sleep 600")
    wait_until(lambda: any("sleep" in line for line in cluster.processes()), "the job to run", within=40)
    assert {"folder", "process", "cgroup"} <= {line.split()[0] for line in traces(folder)}

    cluster.stop()

    assert [] == traces(folder)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_owner_ended(owner, how, slurm_2205_dbd):
    folder = folder_of(owner)

    owner.send_signal(how)
    owner.wait()

    wait_until(lambda: not traces(folder), "the keeper to clear up")


def test_owner_and_keeper_killed(owner, slurm_2205_dbd):
    folder = folder_of(owner)

    os.kill(json.loads((folder / "keeper.json").read_text())["pid"], signal.SIGKILL)
    owner.kill()
    owner.wait()
    wait_until(lambda: "process" not in str(traces(folder)), "the processes to die with the keeper")
    runs.sweep()

    assert [] == traces(folder)


def test_a_sweep_leaves_the_living_alone(slurm_2205_dbd):
    runs.sweep()

    assert slurm_2205_dbd.folder.is_dir()
    assert "idle" in slurm_2205_dbd.run("sinfo", "-h", "-o", "%t")


def test_a_sweep_ends_no_process_that_only_has_the_number(tmp_path):
    """
    A record may be old, and its process id another process's by now.
    """
    folder = runs.HOME / f"{runs.PREFIX}-1-1-{os.urandom(3).hex()}"  # process 1 did not start in that tick
    with subprocess.Popen(["sleep", "600"]) as bystander:
        folder.mkdir()
        record = {"pid": bystander.pid, "start": runs.start_time(bystander.pid) + 1, "boot": runs.boot_id()}
        (folder / "keeper.json").write_text(json.dumps(record))

        runs.sweep()

        assert bystander.poll() is None
        assert not folder.exists()
        bystander.kill()
