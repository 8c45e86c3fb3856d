"""Points at which a test may kill a process."""

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = """
from bascule.failpoints import failpoint
for _ in range(3):
    failpoint("here")
    print("passed", flush=True)
"""


@pytest.mark.parametrize(
    ("armed", "passed", "code"),
    [
        ("", 3, 0),
        ("elsewhere", 3, 0),
        ("here", 0, -signal.SIGKILL),
        ("here:3", 2, -signal.SIGKILL),
        ("x,here:2", 1, -9),
    ],
)
def test_a_process_dies_at_the_visit_that_was_asked_for(armed, passed, code):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, "BASCULE_FAILPOINT": armed}, capture_output=True
    )

    assert (passed, code) == (done.stdout.count(b"passed"), done.returncode)
