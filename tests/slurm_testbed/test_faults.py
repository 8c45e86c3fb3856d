"""The faults that tests of the program make: what Slurm and its nodes do then is real."""

import pytest

from tests.testbed.slurm import SlurmCluster, SlurmSpec
from tests.testbed.slurm_daemons import wait_until
from tests.testbed.slurm_rest import call, submit

pytestmark = [pytest.mark.real, pytest.mark.root]

SLEEP = "#!/bin/bash\nsleep 600"
GREEDY = "#!/bin/bash\nx=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep 60; echo ${#x}"


@pytest.fixture(params=["slurm_2205", "slurm_2605_dbd"])
def cluster(request) -> SlurmCluster:
    return request.getfixturevalue(request.param)


def state_of(cluster: SlurmCluster, number: int) -> str:
    return [record.state for record in cluster.records() if record.id == str(number)][-1]


def running(cluster: SlurmCluster, number: int) -> str:
    """Wait until job *number* runs and return its node."""
    wait_until(lambda: "RUNNING" == state_of(cluster, number), f"job {number} to run", within=40)
    return cluster.run("squeue", "-h", "-j", str(number), "-o", "%N").strip()


class TestController:
    def test_stopped_in_good_order_it_forgets_nothing(self, cluster):
        number = submit(cluster, SLEEP, hold=True, name="kept")

        cluster.stop_ctld()
        assert "is DOWN" in cluster.run("scontrol", "ping", check=False)
        cluster.start_ctld()

        assert "PENDING" == state_of(cluster, number)
        cluster.run("scancel", str(number))

    def test_while_it_is_down_requests_fail_after_the_time_slurm_waits(self, start_slurm):
        """
        slurmrestd knocks again and again for MessageTimeout, ten seconds unless the cluster says otherwise.
        """
        cluster = start_slurm(SlurmSpec(version="22.05", nodes=1, extra_conf="MessageTimeout=2"))

        cluster.stop_ctld()

        assert 500 == call(cluster, "GET", "/slurm/v0.0.38/jobs").status

    def test_killed_it_comes_back_and_takes_jobs(self, cluster):
        cluster.kill_ctld()
        cluster.start_ctld()

        number = submit(cluster, "#!/bin/bash\nexit 0")
        wait_until(lambda: "COMPLETED" == state_of(cluster, number), "the job to end", within=40)

    def test_killed_before_it_saved_it_forgets_a_job_and_gives_its_id_away(self, start_slurm):
        """
        What the program must survive: two jobs under one id.
        """
        cluster = start_slurm(SlurmSpec(version="26.05", accounting=True, nodes=1))
        first = submit(cluster, SLEEP, name="first", hold=True)
        state = cluster.folder / "state/job_state"
        wait_until(lambda: state.exists() and b"first" in state.read_bytes(), "the first to be saved")
        second = submit(cluster, SLEEP, name="second", hold=True)

        cluster.kill_ctld()
        cluster.start_ctld()
        third = submit(cluster, SLEEP, name="third", hold=True)

        names = {record.id: record.name for record in cluster.records()}
        assert second == third
        assert {str(first): "first", str(third): "third"} == names


class TestRest:
    def test_restarts_on_its_port(self, cluster):
        path = f"/slurm/{cluster.rest_versions[-1]}/ping"

        cluster.stop_rest()
        with pytest.raises(OSError) as meanwhile:
            call(cluster, "GET", path)
        cluster.start_rest()  # whatever was said: other tests want it

        assert "refused" in str(meanwhile.value)
        assert 200 == call(cluster, "GET", path).status


class TestNode:
    def test_down_it_takes_its_jobs_along_and_up_it_is_idle(self, cluster):
        number = submit(cluster, "#!/bin/bash\nsleep 613", name="doomed")
        node = running(cluster, number)
        cluster.run("scontrol", "update", f"jobid={number}", "requeue=0")  # 22.05 ignores it in a submit

        cluster.node_down(node)

        assert "NODE_FAIL" == state_of(cluster, number)
        assert not [line for line in cluster.processes() if line == "sleep 613"]
        cluster.node_up(node)
        assert "idle" == cluster.run("sinfo", "-h", "-N", "-p", "main", "-n", node, "-o", "%t").strip()

    def test_a_job_that_may_be_requeued_has_a_record_of_each_run(self, cluster):
        number = submit(cluster, SLEEP, requeue=True, name="again")
        node = running(cluster, number)

        cluster.node_down(node)
        cluster.node_up(node)
        running(cluster, number)

        records = [record for record in cluster.records() if record.id == str(number)]
        assert [("NODE_FAIL", 0), ("RUNNING", 1)] == [(record.state, record.restarts) for record in records]
        cluster.run("scancel", str(number))


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_a_job_that_takes_too_much_memory_is_killed(version, start_slurm):
    cluster = start_slurm(SlurmSpec(version=version, nodes=1, memory_limits=True))
    limit = 30 if version == "22.05" else {"set": True, "infinite": False, "number": 30}
    number = submit(cluster, GREEDY, memory_per_node=limit)

    wait_until(lambda: state_of(cluster, number) not in {"PENDING", "RUNNING"}, "the job to be killed", within=40)

    assert "OUT_OF_MEMORY" == state_of(cluster, number)
