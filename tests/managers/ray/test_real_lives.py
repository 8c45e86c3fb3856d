"""Whole lives of jobs on a real Ray head, through the command and through the manager."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time

import pytest

from bascule.model import Absent, CannotTell, Files, Found, Input, Phase, Reason, Resources, Run
from bascule.wiring import SystemClock
from tests.managers.ray.real_world import RealWorld
from tests.managers.ray.worlds import Place, connect, target_at
from tests.testbed.ray_fixtures import TOKEN

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.timeout(240)]

TARGET = """\
apiVersion: bascule.dev/v1alpha1
kind: BridgeTarget
metadata: {{name: rays}}
spec:
  manager: ray
  url: {url}
  options: {{settleSeconds: 2}}
  limits: {{pollInterval: 1s}}
{more}
"""


class Desk:
    """A person's folder, with a target at a head and the command."""

    def __init__(self, folder, url, more=""):
        self.folder = folder
        (folder / "rays.yaml").write_text(TARGET.format(url=url, more=more))
        self.settings = {**os.environ, "BASCULE_HOME": str(folder / "home"), "HOME": str(folder)}
        self.ran("apply", "-f", "rays.yaml")

    def start(self, *arguments):
        command = [sys.executable, "-m", "bascule", *arguments]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ran(self, *arguments, code=0):
        """Run the command to its end, and return what it printed."""
        with self.start(*arguments) as process:
            printed = process.communicate(timeout=200)[0]
        assert code == process.returncode, printed
        return printed

    def job(self, name):
        return json.loads(self.ran("get", "job", name, "-o", "json"))

    def script(self, name, text):
        (self.folder / name).write_text(f"#!/bin/sh\n{text}")
        return name


@pytest.fixture
def desk(ray_head, tmp_path):
    return Desk(tmp_path, ray_head.url)


@pytest.fixture
async def world(ray_head, tmp_path):
    RealWorld.head = ray_head
    async with RealWorld(tmp_path) as world:
        yield world


class TestCommand:
    def test_output_is_shown_while_it_is_written(self, desk):
        name = desk.script(
            "talk.sh", f'echo first\nwhile [ ! -e {desk.folder}/go ]; do sleep 0.1; done\necho "last of $1"\n'
        )

        with desk.start("run", "-t", "rays", name, "--", "all") as process:
            said_first = "first\n" in iter(process.stdout.readline, "")
            is_running = process.poll() is None
            (desk.folder / "go").touch()
            rest = process.stdout.readlines()

        assert (True, True, 0) == (said_first, is_running, process.returncode), rest
        assert "last of all\n" in rest
        assert "Succeeded" in rest[-1]

    def test_the_command_ends_as_the_job_ends(self, desk):
        failed = desk.ran("run", "-t", "rays", desk.script("fail.sh", "echo oh\nexit 3\n"), code=3)

        assert "oh\n" in failed
        assert "ExitCode" in failed

    def test_a_signal_is_told_as_one(self, desk):
        desk.ran("run", "-t", "rays", desk.script("die.sh", "kill -9 $$\n"), code=137)

        assert (Reason.SIGNAL, 9) == ((status := desk.job("die")["status"])["reason"], status["signal"])

    def test_the_walltime_is_kept_by_us(self, desk):
        (desk.folder / "long.yaml").write_text(
            "apiVersion: bascule.dev/v1alpha1\nkind: BridgeJob\nmetadata: {name: long}\n"
            "spec: {target: {name: rays}, run: {command: [sleep, '600']}, resources: {walltime: 2s}}\n"
        )

        desk.ran("run", "long.yaml", code=72)

        assert Reason.TIMED_OUT == desk.job("long")["status"]["reason"]


class TestManager:
    async def test_files_a_secret_and_a_script_are_brought_along(self, world):
        script = '#!/bin/sh\ncat data/in.txt\necho "$PASSWORD $BASCULE_ATTEMPT"\n'
        files = Files(inputs=(Input("data/in.txt", content="brought\n"),))
        order = world.order(run=Run(script=script), files=files)._replace(secret_env={"PASSWORD": "canary-4711"})

        handle = await world.manager.submit(order)
        await world.becomes(handle, Phase.SUCCEEDED)

        assert b"brought\ncanary-4711 1\n" == (await world.manager.read(handle, "output", 0, 1000)).data
        assert "canary-4711" not in str(await world.manager._head.jobs())

    async def test_a_runtime_environment_that_cannot_be_built_is_a_failed_start(self, world):
        options = {"runtimeEnv": {"py_modules": ["gcs://_ray_pkg_nobody.zip"]}}

        handle = await world.manager.submit(world.order(options=options))
        report = await world.becomes(handle, Phase.FAILED)

        assert Reason.START_FAILED is report.reason
        assert "runtime environment could not be set up" in report.explanation

    async def test_a_waiting_job_that_was_cancelled_goes_when_ray_lets_go(self, world):
        """
        Measured: Ray says that it has stopped it, and keeps it until it has a place for it.
        """
        big = world.order("big", resources=Resources(cpus_per_task=4))
        small = world.order("small", resources=Resources(cpus_per_task=1))
        holder = await world.manager.submit(big)
        await world.becomes(holder, Phase.RUNNING)
        handle = await world.manager.submit(small)

        await world.manager.cancel(handle)
        await asyncio.sleep(2)
        both = await world.manager.observe([holder, handle])
        await world.manager.cancel(holder)
        await world.becomes(handle, Phase.CANCELLED)

        kept = both.answers[handle.id]
        assert Phase.RUNNING is both.answers[holder.id].phase
        assert Phase.QUEUED is kept.phase
        assert "keeps a job that waits" in kept.explanation

    async def test_rays_own_port_is_told_from_its_dashboards(self, ray_head, tmp_path):
        manager = connect(target_at(ray_head.gcs_url), "default", Place(SystemClock(), tmp_path))

        health = await manager.probe()
        await manager.aclose()

        assert not health.reachable
        assert health.hint


@pytest.mark.timeout(400)  # it starts a head twice, which takes a machine that has much to do a minute each
class TestHead:
    """A head in token mode that is killed, and started anew without its table."""

    async def test_tokens_are_asked_for_and_may_change(self, own_ray_head, tmp_path):
        token = tmp_path / "token"
        token.write_text("the-wrong-token-of-somebody-else")
        manager = connect(target_at(own_ray_head.url, token_file=token), "default", Place(SystemClock(), tmp_path))
        wrong = await manager.probe()
        token.write_text(TOKEN)
        right = await manager.probe()
        await manager.aclose()

        assert (True, False) == (wrong.reachable, wrong.authenticated)
        assert "Invalid authentication token" in wrong.message
        assert (True, True, True) == (right.reachable, right.authenticated, right.compatible)

    def test_a_job_of_a_head_that_forgot_it_is_lost_and_not_run_again(self, own_ray_head, tmp_path):
        """
        The worst that a new head could do is to take the same id once more.
        """
        token = tmp_path / "token"
        token.write_text(TOKEN)
        desk = Desk(tmp_path, own_ray_head.url, more=f"  credentials: {{file: {token}}}")
        name = desk.script("mark.sh", f"echo start >>{tmp_path}/starts\nsleep 600\n")

        with desk.start("run", "-t", "rays", name) as process:
            wait_for(tmp_path / "starts")
            own_ray_head.kill()
            own_ray_head.start()
            printed = process.communicate(timeout=200)[0]

        assert 0 != process.returncode
        assert Reason.LOST == desk.job("mark")["status"]["reason"], printed
        assert ["start"] == (tmp_path / "starts").read_text().split()

    async def test_an_absence_names_the_run_of_the_head(self, own_ray_head, tmp_path):
        token = tmp_path / "token"
        token.write_text(TOKEN)
        manager = connect(target_at(own_ray_head.url, token_file=token), "default", Place(SystemClock(), tmp_path))

        absent = await manager.find("train-tests2-abcdefgh-1", SystemClock().now())
        instance = (await manager.probe()).instance
        await manager.aclose()

        assert not isinstance(absent, Found | CannotTell)
        assert isinstance(absent, Absent)
        assert instance == absent.instance


def wait_for(path):
    ends = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < ends, f"{path.name} did not come"
        time.sleep(0.05)
