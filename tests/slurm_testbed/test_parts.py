"""The parts of the testbed that need no server."""

import socket
from pathlib import Path

import pytest

from tests.testbed.machine import TestbedUnavailable
from tests.testbed.mirror import debian_mirror
from tests.testbed.ports import Ports
from tests.testbed.slurm_conf import SlurmPorts, SlurmSpec, rest_plugins, slurm_conf
from tests.testbed.slurm_records import merge

PORTS = SlurmPorts(controller=1, rest=2, accounting=3, database=4, nodes=(5, 6))


class TestMirror:
    @pytest.fixture
    def apt(self, tmp_path) -> Path:
        (tmp_path / "sources.list.d").mkdir()
        return tmp_path

    def test_is_that_of_the_suite_the_machine_runs(self, apt):
        (apt / "sources.list").write_text(
            "# deb http://old/debian bookworm main\n"
            "deb http://elsewhere/sdk bookworm-sdk main\n"
            "deb http://docker/debian bookworm stable\n"
            "deb [arch=amd64 signed-by=/k.gpg] http://mirror/debian bookworm main contrib\n"
        )

        assert "http://mirror/debian" == debian_mirror(apt, "bookworm")

    def test_is_read_from_stanzas_too(self, apt):
        (apt / "sources.list.d/debian.sources").write_text(
            "Types: deb\nURIs: http://security/debian-security\nSuites: bookworm-security\nComponents: main\n"
            "\n"
            "Types: deb\n# a remark\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates\nComponents: main\n"
        )

        assert "http://mirror/debian" == debian_mirror(apt, "bookworm")

    def test_missing_it_says_where_it_looked(self, apt):
        with pytest.raises(TestbedUnavailable, match=f"below {apt}"):
            debian_mirror(apt, "bookworm")


class TestPorts:
    def test_are_free_and_below_those_of_outgoing_connections(self):
        ports = Ports(5)
        low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])

        assert 5 == len(set(ports.numbers))
        assert max(ports.numbers) < low
        for port in ports.numbers:
            with socket.create_server(("127.0.0.1", port)):
                pass
        ports.release()

    def test_are_not_given_twice(self, monkeypatch):
        monkeypatch.setattr("tests.testbed.ports._range", lambda: range(21_500, 21_520))
        first = Ports(8)
        second = Ports(8)

        assert not set(first.numbers) & set(second.numbers)
        first.release()
        second.release()


class TestSlurmConf:
    def test_an_extra_line_replaces_ours_or_adds(self):
        spec = SlurmSpec(nodes=2, extra_conf="minjobage=5\nPartitionName=extra Nodes=n2\n\nLaunchParameters=x")

        lines = slurm_conf(spec, Path("/run"), PORTS).splitlines()

        assert ["minjobage=5"] == [line for line in lines if line.lower().startswith("minjobage")]
        assert "LaunchParameters=x" in lines
        assert ["main", "short", "extra"] == [line.split()[0][14:] for line in lines if line.startswith("Partition")]

    def test_plugins_for_accounting_are_named_only_with_it(self):
        """
        slurmrestd 22.05 dies of the others.
        """
        versions = ("v0.0.38",)

        assert "openapi/v0.0.38" == rest_plugins(SlurmSpec(), versions)
        assert "openapi/v0.0.38,openapi/dbv0.0.38" == rest_plugins(SlurmSpec(accounting=True), versions)
        assert "openapi/slurmctld" == rest_plugins(SlurmSpec(version="26.05"), versions)


class TestRecords:
    ENDED = (
        "JobId=4 UserId=labuser(20000) GroupId=labuser(20000) Name=a b JobState=PENDING Partition=main"
        " StartTime=T1 EndTime=T2 NodeList=n1 SubmitTime=T0 EligibleTime=T0 DerivedExitCode=0:0 ExitCode=0:0 \n"
        "JobId=5 UserId=labuser(20000) GroupId=labuser(20000) Name=c JobState=COMPLETED Partition=main"
        " StartTime=T1 EndTime=T2 NodeList=n1 SubmitTime=T0 EligibleTime=T0 DerivedExitCode=0:0 ExitCode=0:0 \n"
    )
    SHOWN = (
        "JobId=4 JobName=a b UserId=labuser(20000) GroupId=labuser(20000) JobState=RUNNING Reason=None Restarts=1"
        " ExitCode=0:0 SubmitTime=T0 StartTime=T3 EndTime=Unknown NodeList=n2 WorkDir=/j Comment=x = y  StdErr=/j/4.err\n"
        "JobId=6 ArrayJobId=6 ArrayTaskId=0-2 JobName=d UserId=labuser(20000) GroupId=labuser(20000)"
        " JobState=PENDING Reason=JobHeldUser Restarts=0 ExitCode=0:0 SubmitTime=T0 StartTime=Unknown EndTime=Unknown"
        " NodeList= WorkDir=/j StdErr=/j/6.err\n"
    )

    def test_hold_each_run_of_a_requeued_job(self):
        runs = [record for record in merge(self.SHOWN, self.ENDED) if record.id == "4"]

        assert [("REQUEUED", "a b", ""), ("RUNNING", "a b", "x = y")] == [(r.state, r.name, r.comment) for r in runs]

    def test_hold_a_job_that_the_controller_no_longer_remembers(self):
        assert ["COMPLETED"] == [record.state for record in merge(self.SHOWN, self.ENDED) if record.id == "5"]

    def test_name_arrays_as_people_do(self):
        assert "6_[0-2]" in {record.id for record in merge(self.SHOWN, "")}

    def test_of_no_jobs_are_none(self):
        assert [] == merge("No jobs in the system\n", "")
