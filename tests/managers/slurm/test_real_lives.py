"""Lives of jobs on real clusters, with and without accounting: what only a real Slurm can show."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from datetime import timedelta

import pytest

from bascule.errors import Refused, Unauthorized, Unavailable
from bascule.managers.slurm.rewound import GONE
from bascule.managers.slurm.versions import NEWEST_FIRST
from bascule.model import (
    Absent,
    Array,
    CannotTell,
    Duration,
    Found,
    Gpus,
    Handle,
    Phase,
    Quantity,
    Reason,
    Report,
    Resources,
    Run,
    Source,
    Warn,
)
from tests.contracts.manager_world import INSTALLATION
from tests.managers.slurm.real_world import SCRIPT, RealWorld
from tests.managers.slurm.worlds import TOKEN_NAME
from tests.testbed.slurm import SlurmCluster, SlurmSpec

pytestmark = [pytest.mark.real, pytest.mark.root]

VERSIONS = ["slurm_2205", "slurm_2411_dbd", "slurm_2605_dbd"]
FINAL = (Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED)


def world_of(cluster):
    return type("World", (RealWorld,), {"cluster": cluster})


@pytest.fixture(params=VERSIONS)
def cluster(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
async def world(cluster, tmp_path):
    async with world_of(cluster)(tmp_path) as world:
        yield world


async def rewound(world):
    """Return a job that ran, and that slurmctld holds as before."""
    for _ in range(4):
        order = world.order(held=True)
        handle = await world.manager.submit(order)
        await asyncio.sleep(6.0)  # slurmctld's state is saved at most 5 s after a change
        await world.manager.cancel(await world.manager.submit(world.order("another", held=True)))
        await asyncio.sleep(0.3)  # and at once after a rest: from now on not for 5 s
        await world.manager.release(handle)
        await world.becomes(handle, Phase.RUNNING, *FINAL)
        await world.wait_for(world.place / f"{order.key}.starts")
        if world.run.script != SCRIPT:
            await world.becomes(handle, *FINAL)
            await asyncio.sleep(0.3)
        await asyncio.to_thread(world.cluster.kill_ctld)
        await asyncio.to_thread(world.cluster.start_ctld)
        if "JobHeldUser" == (await shown(world, handle)).get("Reason"):
            return order, handle
    raise AssertionError("slurmctld saved its state too often")


async def shown(world, handle):
    text = await asyncio.to_thread(world.cluster.run, "scontrol", "show", "job", handle.id)
    return dict(pair.split("=", 1) for pair in text.split() if "=" in pair)


class TestEveryVersion:
    async def test_a_job_from_held_to_its_exit_code_and_output(self, world):
        order = world.order(held=True, run=Run(script="#!/bin/sh\necho out\necho err >&2\nexit 7\n"))
        since = world.now() - timedelta(minutes=1)

        handle = await world.manager.submit(order)
        held = await world.see(handle)
        found = await world.manager.find(order.key, since)
        await world.manager.release(handle)
        report = await world.becomes(handle, *FINAL)
        output = await world.manager.read(handle, "output", 0, 100)
        error = await world.manager.read(handle, "error", 0, 100)

        assert Phase.HELD is held.phase
        assert isinstance(found, Found)
        assert found.matches[0].held
        assert (Phase.FAILED, Reason.EXIT_CODE, 7) == (report.phase, report.reason, report.exit_code)
        assert (b"out\n", b"err\n") == (output.data, error.data)

    async def test_the_version_and_every_step_of_a_check(self, world):
        health = await world.manager.probe()

        assert health.version.startswith(world.cluster.spec.version)
        assert f"REST {world.cluster.rest_versions[-1]}" in health.version
        assert ["address", "version", "slurmctld", "sign-in", "accounting", "files"] == [c.name for c in health.checks]
        assert world.cluster.spec.accounting is world.manager.abilities.history

    async def test_what_the_script_and_the_fields_ask_for_is_what_slurm_has(self, world):
        script = (
            "#!/bin/bash\n#SBATCH --partition=short --nodes=4\n#SBATCH -t 90\n#SBATCH --mem-per-cpu=100M\n"
            "#SBATCH --nice=7 --comment 'of mine'\n#SBATCH --licenses=matlab:1 --no-requeue\nsleep 60\n"
        )
        resources = Resources(
            nodes=1,
            tasks=2,
            cpus_per_task=2,
            memory_per_node=Quantity("512Mi"),
            gpus_per_node=Gpus(1, "a100"),
            walltime=Duration(minutes=5),
        )
        options = {"partition": "main", "mailType": ["END", "FAIL"], "mailUser": "a@example.org", "constraints": "any"}
        order = world.order(held=True, run=Run(script=script), resources=resources, options=options)

        handle = await world.manager.submit(order)
        has = await shown(world, handle)

        assert ("main", "00:05:00", "1-1", "2", "2") == (
            has["Partition"],
            has["TimeLimit"],
            "1-1" if has["NumNodes"] in {"1", "1-1"} else has["NumNodes"],
            has["NumTasks"],
            has["CPUs/Task"],
        )
        assert "512M" == has["MinMemoryNode"]
        assert "gpu:a100:1" in has["TresPerNode"]
        assert ("7", "0", "matlab:1", "any") == (has["Nice"], has["Requeue"], has["Licenses"], has["Features"])
        assert order.key == has["JobName"]
        assert has["Comment"].startswith(order.key)

    async def test_tasks_of_an_array_are_counted_read_and_cancelled_each(self, world):
        script = "#!/bin/sh\necho task $SLURM_ARRAY_TASK_ID\nsleep 1\nexit $((SLURM_ARRAY_TASK_ID % 2))\n"
        order = world.order(held=True, run=Run(script=script), array=Array("0-4", 2))

        handle = await world.manager.submit(order)
        await world.manager.release(handle)
        await world.manager.cancel(handle, 4)
        report = await world.becomes(handle, *FINAL)
        output = await world.manager.read(handle, "output", 0, 100, 3)

        counted = report.tasks
        assert (5, 2, 2, 1) == (counted.total, counted.succeeded, counted.failed, counted.cancelled)
        assert "1,3" == counted.failed_indices
        assert (Phase.FAILED, 1) == (report.phase, report.exit_code)
        assert b"task 3\n" == output.data

    async def test_an_unknown_partition_is_refused_with_those_there_are(self, world):
        with pytest.raises(Refused, match="Invalid partition name") as caught:
            await world.manager.submit(world.order(options={"partition": "nosuch"}))

        assert "`main`" in caught.value.hint

    async def test_a_job_that_is_requeued_runs_again_and_says_so(self, world):
        _, handle = await world.running()

        await asyncio.to_thread(world.cluster.run, "scontrol", "requeue", handle.id)
        for _ in range(100):
            report = await world.see(handle)
            if report.restarts:
                break
            await asyncio.sleep(0.1)

        assert 1 == report.restarts
        assert report.phase in {Phase.QUEUED, Phase.RUNNING}

    async def test_a_walltime_is_changed_and_a_signal_reaches_the_script(self, world):
        order, handle = await world.running(resources=Resources(walltime=Duration(minutes=30)))

        await world.manager.update(handle, timedelta(minutes=9, seconds=30))
        await world.manager.signal(handle, "USR1")
        await world.wait_for(world.place / f"{order.key}.signals")

        assert "00:10:00" == (await shown(world, handle))["TimeLimit"]
        assert ["USR1"] == world.signals(order.key)

    async def test_somebody_elses_job_is_not_touched(self, world):
        """
        Without accounting, newer versions deadlock over a DELETE of a job that is not the caller's.
        """
        batch = ["sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", "--wrap", "sleep 30"]
        number = await asyncio.to_thread(world.cluster.run, *batch, user=world.cluster.other_user)
        theirs = Handle(number.strip())
        _, ours = await world.running()

        for handle in (theirs, Handle(theirs.id, ours.key)):
            with pytest.raises(Refused, match="not ours"):
                await world.manager.cancel(handle)
            with pytest.raises(Refused, match="not ours"):
                await world.manager.hold(handle)

        assert isinstance(await world.see(Handle(theirs.id, ours.key)), Absent | CannotTell)
        await world.becomes(ours, Phase.RUNNING)
        await asyncio.to_thread(world.cluster.run, "scancel", theirs.id)

    async def test_a_silent_slurmctld_is_told_from_a_bad_token(self, world):
        _, handle = await world.running()
        os.environ[TOKEN_NAME] = world.cluster.token(lifespan=-10)
        with pytest.raises(Unauthorized, match="expired"):
            await world.manager.observe([handle])
        os.environ[TOKEN_NAME] = world.cluster.token(world.cluster.other_user)
        with pytest.raises(Unauthorized, match="is a token of"):
            await world.manager.observe([handle])
        os.environ[TOKEN_NAME] = world.cluster.token()

        await asyncio.to_thread(world.cluster.stop_ctld)
        try:
            with pytest.raises(Unavailable) as silence:
                await world.manager.observe([handle])
            health = await world.manager.probe()
        finally:
            await asyncio.to_thread(world.cluster.start_ctld)

        assert not isinstance(silence.value, Unauthorized)
        assert not health.reachable
        assert "slurmctld" in f"{health.message} {health.hint}"
        await world.becomes(handle, Phase.RUNNING)


SPOKEN = [("slurm_2411_dbd", f"v0.0.{n}") for n in (40, 41, 42)] + [
    ("slurm_2605_dbd", f"v0.0.{n}") for n in (42, 43, 44, 45)
]


@pytest.mark.parametrize(
    ("cluster", "version"), SPOKEN, indirect=["cluster"], ids=[f"{c[6:10]}-{v}" for c, v in SPOKEN]
)
async def test_a_life_in_every_version_that_a_real_slurmrestd_speaks(world, version, monkeypatch):
    """
    The newest is used; with a server that has no newer one, each must do.
    """
    shapes = tuple(shape for shape in NEWEST_FIRST if shape.name == version)
    monkeypatch.setattr("bascule.managers.slurm.discovery.NEWEST_FIRST", shapes)
    world.manager._discovery.forget()
    since = world.now() - timedelta(minutes=1)
    lines = "#SBATCH --mem=64M --nice=3 --no-requeue\n#SBATCH --licenses=matlab:1 --gres=gpu:1\n"
    script = f"#!/bin/sh\n{lines}echo out $1\nexit 7\n"
    order = world.order(
        held=True, run=Run(script=script), arguments=("a b",), resources=Resources(walltime=Duration(minutes=3))
    )
    tasks = world.order("tasks", array=Array("0-2"), run=Run(script="#!/bin/sh\nexit $SLURM_ARRAY_TASK_ID\n"))

    assert f"REST {version}" in (await world.manager.probe()).version
    handle, array = await world.manager.submit(order), await world.manager.submit(tasks)
    held, found = await world.see(handle), await world.manager.find(order.key, since)
    has = await shown(world, handle)
    strays = await world.manager.sweep(INSTALLATION)
    await world.manager.update(handle, timedelta(minutes=2))
    await world.manager.release(handle)
    report = await world.becomes(handle, *FINAL)
    output = await world.manager.read(handle, "output", 0, 100)
    counted = (await world.becomes(array, *FINAL)).tasks
    _, runs = await world.running()
    await world.manager.signal(runs, "USR1")
    await world.manager.cancel(runs)

    assert (Phase.HELD, True) == (held.phase, found.matches[0].held)
    assert (order.key, True) in {(stray.key, stray.held) for stray in strays}
    assert ("64M", "3", "matlab:1") == (has["MinMemoryNode"], has["Nice"], has["Licenses"])
    assert (Phase.FAILED, 7, b"out a b\n") == (report.phase, report.exit_code, output.data)
    assert (3, 1, "1-2") == (counted.total, counted.succeeded, counted.failed_indices)
    assert Phase.CANCELLED is (await world.becomes(runs, *FINAL)).phase
    for number in (handle.id, runs.id):
        rows, _ = await world.manager._cluster.past([number])
        assert number in {str(row.id) for row in rows}


class TestAccidents:
    @pytest.mark.parametrize("cluster", ["slurm_2205", "slurm_2605_dbd"], indirect=True)
    async def test_an_id_that_slurmctld_forgot_and_gave_to_another_is_not_taken_for_ours(self, world):
        """
        Killed, slurmctld forgets what it has not saved yet, and gives the ids again.
        """
        handles = [await world.manager.submit(world.order(f"job{n}", held=True)) for n in range(4)]
        await asyncio.to_thread(world.cluster.kill_ctld)
        await asyncio.to_thread(world.cluster.start_ctld)
        others = [await world.manager.submit(world.order(f"other{n}", held=True)) for n in range(4)]

        for handle in handles:
            answer = await world.see(handle)
            there = await asyncio.to_thread(world.cluster.run, "squeue", "-h", "-n", handle.key, "-o", "%A")
            assert isinstance(answer, Report) is bool(there.strip())
            found = await world.manager.find(handle.key, world.now() - timedelta(minutes=5))
            assert isinstance(found, Found) is bool(there.strip())
        assert [Report] * 4 == [type(await world.see(handle)) for handle in others]

    @pytest.mark.slow
    @pytest.mark.timeout(180)
    @pytest.mark.parametrize("ended", [True, False], ids=["ended", "running"])
    @pytest.mark.parametrize("cluster", ["slurm_2205", "slurm_2605_dbd"], indirect=True)
    async def test_what_slurmctld_holds_again_though_it_ran_does_not_run_again(self, world, ended):
        """
        Killed within seconds of a release, slurmctld comes back from its state file with the job held.
        """
        world.run = Run(script=f"{SCRIPT.partition('trap')[0]}exit 3\n") if ended else world.run
        order, handle = await rewound(world)

        with pytest.raises(Refused, match="it ran before"):
            await world.manager.unhold(handle)
        answer = await world.see(handle)
        (stray,) = [each for each in await world.manager.sweep(INSTALLATION) if each.key == order.key]

        if ended:
            assert (Phase.FAILED, 3) == (answer.phase, answer.exit_code)
        else:
            for _ in range(200):
                if isinstance(answer, Absent):
                    break
                assert isinstance(answer, CannotTell)
                await asyncio.sleep(0.1)
                answer = await world.see(handle)
            assert answer == Absent(GONE, answer.as_of)
        await world.manager.cancel(stray.handle)
        assert (handle.id, True) == (stray.handle.id, stray.held)
        assert 1 == world.starts(order.key)

    @pytest.mark.parametrize("cluster", ["slurm_2605"], indirect=True)
    async def test_a_newer_slurm_without_accounting_and_a_strangers_job(self, world):
        await TestEveryVersion().test_somebody_elses_job_is_not_touched(world)

    @pytest.mark.parametrize("cluster", ["slurm_2605_dbd"], indirect=True)
    async def test_a_node_that_dies_is_the_reason(self, world):
        order = world.order(options={"requeue": False, "nodeList": ["n4"]})
        handle = await world.manager.submit(order)
        await world.start(handle)
        await world.becomes(handle, Phase.RUNNING)

        await asyncio.to_thread(world.cluster.node_down, "n4")
        try:
            report = await world.becomes(handle, *FINAL)
        finally:
            await asyncio.to_thread(world.cluster.node_up, "n4")

        assert (Phase.FAILED, Reason.NODE_FAILED) == (report.phase, report.reason)


class TestWrapped:
    @pytest.mark.parametrize("cluster", ["slurm_2205", "slurm_2605"], indirect=True)
    async def test_a_script_runs_byte_for_byte_with_its_arguments_in_a_login_shell(self, world):
        script = '#!/bin/bash\nprintf \'%s|\' "$@"\ncat "$0" | sha256sum\n'
        script += "shopt -q login_shell; printf '%s' \"$BASCULE_SECRET\" | wc -c; printf 'é\r'"
        order = world.order(run=Run(script=script), arguments=("a b", "*", "'"), options={"loginShell": True})
        handle = await world.manager.submit(order._replace(secret_env={"BASCULE_SECRET": "12345"}))

        await world.becomes(handle, Phase.SUCCEEDED)
        output = await world.manager.read(handle, "output", 0, 1000)

        assert b"a b|*|'|" + hashlib.sha256(script.encode()).hexdigest().encode() in output.data
        assert b"5\n" in output.data
        assert output.data.endswith("é\r".encode())

    @pytest.mark.parametrize("cluster", ["slurm_2205"], indirect=True)
    async def test_the_folder_for_a_job_is_made_where_it_names_none(self, world):
        order = world.order(run=Run(command=("pwd",)), working_directory=None)
        order = order._replace(job=type(order.job)("default", "job", order.job.uid, order.job.spec))

        handle = await world.manager.submit(order)
        await world.becomes(handle, Phase.SUCCEEDED)
        output = await world.manager.read(handle, "output", 0, 1000)

        assert f"{world.cluster.jobs_dir}/{order.key}" == output.data.decode().strip()


@pytest.mark.parametrize(("version", "accounting"), [("22.05", False), ("26.05", True)])
async def test_a_job_that_takes_too_much_memory_says_so(version, accounting, start_slurm, tmp_path):
    cluster = start_slurm(SlurmSpec(version=version, accounting=accounting, nodes=1, memory_limits=True))
    async with world_of(cluster)(tmp_path) as world:
        greedy = Run(script="#!/bin/sh\nhead -c 200m /dev/zero | tail >/dev/null\n")
        order = world.order(run=greedy, resources=Resources(memory_per_node=Quantity("30Mi")))
        handle = await world.manager.submit(order)

        report = await world.becomes(handle, *FINAL)

    assert (Phase.FAILED, Reason.OUT_OF_MEMORY) == (report.phase, report.reason)


@pytest.mark.slow
@pytest.mark.timeout(240)
class TestTime:
    @pytest.mark.parametrize("cluster", ["slurm_2205", "slurm_2605_dbd"], indirect=True)
    async def test_the_walltime_is_the_reason_and_is_warned_of(self, world):
        """
        Where Slurm warns by itself, it does so some time within its minute.
        """
        warn = Warn("USR1", Duration(seconds=30)) if world.cluster.spec.version != "22.05" else None
        order, handle = await world.running(resources=Resources(walltime=Duration(minutes=1)), signal=warn)
        world.patience = 150.0

        report = await world.becomes(handle, *FINAL)

        assert (Phase.FAILED, Reason.TIMED_OUT) == (report.phase, report.reason)
        assert (["USR1"] if warn else []) == world.signals(order.key)

    @pytest.mark.parametrize(
        ("version", "accounting", "source"), [("26.05", True, Source.HISTORY), ("22.05", False, Source.MARKER)]
    )
    async def test_what_slurmctld_has_forgotten_is_still_known(self, version, accounting, source, tmp_path):
        """
        By accounting, or by what the wrapper noted in the shared folder.
        """
        with SlurmCluster(SlurmSpec(version=version, accounting=accounting, min_job_age=2, nodes=1)) as cluster:
            async with world_of(cluster)(tmp_path) as world:
                since = world.now() - timedelta(minutes=1)
                order = world.order(run=Run(script="#!/bin/sh\nexit 5\n"))
                handle = await world.manager.submit(order)
                await world.becomes(handle, *FINAL)
                for _ in range(1200):
                    if not re.search(rf"JobId={handle.id}\b", cluster.run("scontrol", "show", "jobs", check=False)):
                        break
                    await asyncio.sleep(0.1)

                report = await world.see(handle)
                found = await world.manager.find(order.key, since)

        assert (Phase.FAILED, 5, source) == (report.phase, report.exit_code, report.source)
        assert (5, source) == (found.matches[0].report.exit_code, found.matches[0].report.source)
