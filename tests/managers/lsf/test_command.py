"""From the command, as a user would: the fake as the page starts it, a target, jobs, their output and exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TARGET = """\
apiVersion: bascule.dev/v1alpha1
kind: BridgeTarget
metadata: {{name: lsf}}
spec:
  manager: lsf
  url: {url}
  credentials: {{user: alice, file: {file}}}
"""


class User:
    """Somebody at a shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = {
            **os.environ,
            "BASCULE_HOME": str(folder / "home"),
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
            "PYTHONUNBUFFERED": "1",
        }

    def types(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bascule", *words],
            cwd=self.folder,
            env=self.settings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=110,
        )

    def starts(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT if "tests.fakes.lsf" in words else self.folder,
            env=self.settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    def writes(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return name


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    user = User(tmp_path_factory.mktemp("user"))
    with user.starts("-m", "tests.fakes.lsf", "0") as server:
        told = dict(server.stdout.readline().rstrip("\n").split(": ", 1) for _ in range(3))
        user.writes("password", told["password"])
        user.writes("target.yaml", TARGET.format(url=told["url"], file=user.folder / "password"))
        assert 0 == user.types("apply", "-f", "target.yaml").returncode
        yield user
        server.send_signal(signal.SIGINT)
        assert 0 == server.wait(20)


def test_the_target_is_checked_step_by_step(user):
    done = user.types("target", "check", "lsf")

    assert 0 == done.returncode, done.stdout + done.stderr
    assert ["address", "sign-in", "version", "jobs"] == [line.split()[1] for line in done.stdout.splitlines()[:4]]


def test_run_shows_the_output_and_ends_as_the_job_does(user):
    script = user.writes("three.sh", "#!/bin/sh\n#BSUB -W 5\necho out\necho err >&2\nexit 3\n")

    done = user.types("run", "-t", "lsf", script)

    assert 3 == done.returncode, done.stderr
    assert "out\n" == done.stdout
    assert "err" in done.stderr


def test_output_comes_while_the_job_runs(user):
    """
    LSF by itself would keep it back until the end.
    """
    gate = user.folder / "gate"
    script = user.writes("live.sh", f"#!/bin/sh\necho first\nwhile [ ! -e {gate} ]; do sleep 0.05; done\necho last\n")

    with user.starts("-m", "bascule", "run", "-t", "lsf", script) as run:
        first = run.stdout.readline()
        gate.touch()
        rest = run.stdout.read()

    assert ("first\n", "last\n", 0) == (first, rest, run.returncode)


def test_the_example_runs_as_its_page_says(user):
    done = user.types("run", str(ROOT / "examples" / "lsf" / "first.yaml"))

    assert 0 == done.returncode, done.stderr
    assert "hello LSF\nhello Bascule\n" == done.stdout


@pytest.mark.parametrize(("name", "command", "code"), [("killed", "kill -9 $$", 137), ("well", "true", 0)])
def test_signals_and_successes_are_exit_codes(user, name, command, code):
    assert code == user.types("run", "-t", "lsf", "-n", name, "--wrap", command).returncode


def test_a_cancelled_job_is_73_and_a_refused_one_65(user):
    user.types("submit", "-t", "lsf", "-n", "long", "--wrap", "sleep 60")
    cancelled = user.types("cancel", "long")
    script = user.writes("no.sh", "#!/bin/sh\n#BSUB -q nowhere\n")
    refused = user.types("run", "-t", "lsf", script)

    assert 0 == cancelled.returncode, cancelled.stderr
    assert 73 == user.types("wait", "long").returncode
    assert 65 == refused.returncode
    assert "nowhere: No such queue. Job not submitted" in refused.stderr
