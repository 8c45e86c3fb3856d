"""What a test starts ends with the test run, also where that was killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.testbed.slurm_daemons import wait_until
from tests.testbed.tether import Tether, start_of

ROOT = Path(__file__).parents[2]
OWNER = """
import subprocess, sys, time
from tests.testbed.tether import Tether
with Tether() as tether:
    started = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, text=True, start_new_session=True)
    tether.hold(started.pid)
    print(started.pid, started.stdout.readline(), flush=True)
    time.sleep(600)
"""


def test_an_owner_that_is_killed_takes_along_what_it_started_and_what_that_started():
    command = [sys.executable, "-c", OWNER]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout is not None
        started = [int(word) for word in owner.stdout.readline().split()]
        assert all(start_of(process) for process in started)

        owner.send_signal(signal.SIGKILL)
        owner.wait()

    wait_until(lambda: not any(start_of(process) for process in started), "their end", within=20)


def test_one_that_was_let_go_lives_on():
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as started:
        with Tether() as tether:
            tether.hold(started.pid)
            tether.let_go(started.pid)
        assert started.poll() is None
        started.kill()


def test_a_frozen_one_ends_too():
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as started:
        with Tether() as tether:
            tether.hold(started.pid)
            started.send_signal(signal.SIGSTOP)
        assert -signal.SIGKILL == started.wait(20)
