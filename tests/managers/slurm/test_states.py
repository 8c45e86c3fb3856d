"""What Slurm's words mean, in every form that a version writes them in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bascule.managers.slurm.arrays import array_report
from bascule.managers.slurm.indices import in_bit_map, indices_in
from bascule.managers.slurm.nodes import expanded
from bascule.managers.slurm.patterns import filled, is_beneath
from bascule.managers.slurm.reasons import SENTENCES, sentence
from bascule.managers.slurm.records import Record, from_live, from_past
from bascule.managers.slurm.states import BASE, FLAGS, report_of, verdict_of
from bascule.managers.slurm.wire import LiveJobs, PastJobs, decode, integer
from bascule.model import Phase, Reason

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
STARTED = int(NOW.timestamp()) - 100


def record(*words: str, **more: object) -> Record:
    return Record(7, "key", "alice", words, **more)


class TestWords:
    @pytest.mark.parametrize(
        ("words", "more", "phase", "reason", "settled"),
        [
            (["PENDING"], {}, Phase.QUEUED, "", True),
            (["PENDING"], {"reason": "JobHeldUser"}, Phase.HELD, "", True),
            (["PENDING"], {"reason": "JobHeldAdmin"}, Phase.HELD, "", True),
            (["PENDING"], {"hold": True}, Phase.HELD, "", True),
            (["RUNNING"], {}, Phase.RUNNING, "", True),
            (["RUNNING", "CONFIGURING"], {}, Phase.QUEUED, "", True),
            (["CONFIGURING"], {}, Phase.QUEUED, "", True),
            (["RUNNING", "SIGNALING"], {}, Phase.RUNNING, "", True),
            (["RUNNING", "STOPPED"], {}, Phase.HELD, Reason.SUSPENDED, True),
            (["SUSPENDED"], {}, Phase.HELD, Reason.SUSPENDED, True),
            (["COMPLETING"], {}, Phase.RUNNING, "", True),
            (["COMPLETED", "COMPLETING"], {}, Phase.SUCCEEDED, "", False),
            (["COMPLETED", "STAGE_OUT"], {}, Phase.SUCCEEDED, "", False),
            (["COMPLETED"], {"exit_code": 0}, Phase.SUCCEEDED, "", True),
            (["FAILED"], {"exit_code": 3}, Phase.FAILED, Reason.EXIT_CODE, True),
            (["FAILED"], {"signal": 9}, Phase.FAILED, Reason.SIGNAL, True),
            # 22.05 says this of every job that a signal ended.
            (["FAILED"], {"signal": 10, "reason": "JobLaunchFailure"}, Phase.FAILED, Reason.SIGNAL, True),
            (["FAILED"], {"signal": 53, "reason": "JobLaunchFailure"}, Phase.FAILED, Reason.START_FAILED, True),
            (["FAILED"], {"reason": "JobLaunchFailure"}, Phase.FAILED, Reason.START_FAILED, True),
            (["FAILED", "LAUNCH_FAILED"], {}, Phase.FAILED, Reason.START_FAILED, True),
            (["CANCELLED"], {}, Phase.CANCELLED, "", True),
            (["CANCELLED", "COMPLETING"], {}, Phase.CANCELLED, "", False),
            (["TIMEOUT"], {}, Phase.FAILED, Reason.TIMED_OUT, True),
            (["DEADLINE"], {}, Phase.FAILED, Reason.TIMED_OUT, True),
            (["OUT_OF_MEMORY"], {"signal": None}, Phase.FAILED, Reason.OUT_OF_MEMORY, True),
            (["NODE_FAIL"], {}, Phase.FAILED, Reason.NODE_FAILED, True),
            (["NODE_FAIL", "COMPLETING", "REQUEUED"], {}, Phase.QUEUED, "", True),
            (["BOOT_FAIL"], {}, Phase.FAILED, Reason.NODE_FAILED, True),
            (["PREEMPTED"], {}, Phase.FAILED, Reason.PREEMPTED, True),
            (["PREEMPTED", "REQUEUED"], {}, Phase.QUEUED, "", True),
            (["REQUEUE_HOLD"], {}, Phase.HELD, "", True),
            (["PENDING", "SPECIAL_EXIT"], {}, Phase.HELD, "", True),
            (["PENDING", "REQUEUED"], {}, Phase.QUEUED, "", True),
            (["REVOKED"], {}, Phase.CANCELLED, "", True),
            (["FLUMMOXED"], {}, None, "", True),
            (["COMPLETED", "FLUMMOXED"], {}, None, "", True),
            ([], {}, None, "", True),
        ],
    )
    def test_what_they_mean(self, words, more, phase, reason, settled):
        verdict = verdict_of(record(*words, **more))

        assert (phase, reason) == (verdict.phase, verdict.reason)
        assert settled is verdict.settled

    def test_every_word_of_slurm_has_a_meaning(self):
        """
        The list of v0.0.45, which has all earlier ones.
        """
        known = [
            "PENDING",
            "RUNNING",
            "SUSPENDED",
            "COMPLETED",
            "CANCELLED",
            "FAILED",
            "TIMEOUT",
            "NODE_FAIL",
            "PREEMPTED",
            "BOOT_FAIL",
            "DEADLINE",
            "OUT_OF_MEMORY",
            "LAUNCH_FAILED",
            "REQUEUED",
            "REQUEUE_HOLD",
            "SPECIAL_EXIT",
            "RESIZING",
            "CONFIGURING",
            "COMPLETING",
            "STOPPED",
            "RECONFIG_FAIL",
            "POWER_UP_NODE",
            "REVOKED",
            "REQUEUE_FED",
            "RESV_DEL_HOLD",
            "SIGNALING",
            "STAGE_OUT",
            "EXPEDITING",
        ]

        assert set(known) == BASE.keys() | FLAGS
        assert all(verdict_of(record(word)).phase is not None for word in known)

    def test_an_estimated_start_is_told_apart_from_a_start(self):
        waits = report_of(record("PENDING", reason="Resources", started=STARTED + 500), NOW)
        runs = report_of(record("RUNNING", started=STARTED, nodes="n[1-2]"), NOW)

        assert waits.expected_start is not None
        assert waits.started_at is None
        assert runs.expected_start is None
        assert runs.started_at is not None
        assert ("n1", "n2") == runs.nodes

    def test_a_job_that_could_not_be_started_got_no_signal_53(self):
        report = report_of(record("FAILED", signal=53, reason="JobLaunchFailure"), NOW)

        assert (Reason.START_FAILED, None, None) == (report.reason, report.signal, report.exit_code)

    def test_who_ended_a_job_is_told_where_it_is_known(self):
        assert "cancelled by `root`" == report_of(record("CANCELLED", killed_by="root"), NOW).explanation

    @pytest.mark.parametrize(
        "reason", [*SENTENCES, "QOSMaxJobsPerUserLimit", "AssocGrpCpuLimit", "SomethingOfNextYear", ""]
    )
    def test_every_reason_is_a_sentence(self, reason):
        said = sentence(reason)

        assert said
        assert said[0].islower()
        assert not said.endswith(".")


class TestWire:
    def test_the_same_job_in_two_shapes_is_the_same_record(self):
        old = b"""{"jobs": [{"job_id": 3, "name": "k", "user_name": "a", "job_state": "FAILED", "exit_code": 1792,
            "state_reason": "NonZeroExitCode", "submit_time": 5, "start_time": 6, "end_time": 7, "nodes": "n1",
            "array_job_id": 0, "array_task_id": null, "priority": 4294901757, "restart_cnt": 0}]}"""
        new = b"""{"jobs": [{"job_id": 3, "name": "k", "user_name": "a", "job_state": ["FAILED"],
            "exit_code": {"status": ["ERROR"], "return_code": {"set": true, "infinite": false, "number": 7},
            "signal": {"id": {"set": false, "infinite": false, "number": 0}, "name": ""}},
            "state_reason": "NonZeroExitCode", "submit_time": {"set": true, "infinite": false, "number": 5},
            "start_time": {"set": true, "infinite": false, "number": 6}, "hold": false, "restart_cnt": 0,
            "end_time": {"set": true, "infinite": false, "number": 7}, "nodes": "n1",
            "array_job_id": {"set": true, "infinite": false, "number": 0}, "array_task_string": ""}]}"""

        records = [from_live(decode(body, LiveJobs).jobs[0]) for body in (old, new)]

        assert records[0] == records[1]
        assert 7 == records[0].exit_code

    def test_the_history_of_22_05_has_the_exit_code_in_the_step(self):
        body = b"""{"jobs": [{"job_id": 3, "name": "k", "user": "a", "state": {"current": "FAILED", "reason": "None"},
            "exit_code": {"status": "SUCCESS", "return_code": 0},
            "steps": [{"exit_code": {"status": "ERROR", "return_code": 5}}]}]}"""

        assert 5 == from_past(decode(body, PastJobs).jobs[0]).exit_code

    @pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
    def test_numbers_that_json_has_not_are_none(self, token):
        body = f'{{"jobs": [{{"job_id": 1, "start_time": {{"set": true, "number": {token}}}}}]}}'.encode()

        assert from_live(decode(body, LiveJobs).jobs[0]).started is None

    @pytest.mark.parametrize(
        ("value", "number"), [(4294967294, None), (65534, None), (0, 0), ("12", 12), ("x", None), (None, None)]
    )
    def test_old_marks_for_none_are_none(self, value, number):
        assert number == integer(value)

    def test_a_fault_in_the_middle_is_an_error_not_half_a_list(self):
        with pytest.raises(ValueError):
            decode(b'{"jobs": [{"job_id": 1}, {"job_', LiveJobs)


class TestArrays:
    def part(self, task, word, **more):
        return Record(100 + task, "key", "alice", (word,), array=100, task=task, **more)

    def test_one_that_runs_makes_all_run(self):
        waiting = Record(100, "key", "alice", ("PENDING",), array=100, waiting=(2, 3), reason="JobArrayTaskLimit")
        report = array_report([self.part(0, "COMPLETED"), self.part(1, "RUNNING"), waiting], range(4), NOW)

        assert Phase.RUNNING is report.phase
        assert (4, 1, 0, 1) == (report.tasks.total, report.tasks.succeeded, report.tasks.failed, report.tasks.running)

    def test_it_is_over_when_all_are(self):
        failed = self.part(1, "FAILED", exit_code=3)
        report = array_report(
            [self.part(0, "COMPLETED", exit_code=0), failed, self.part(2, "FAILED", exit_code=4)], range(3), NOW
        )

        assert (Phase.FAILED, Reason.EXIT_CODE, 3) == (report.phase, report.reason, report.exit_code)
        assert ("1-2", "0-2") == (report.tasks.failed_indices, report.tasks.indices)
        assert report.explanation.startswith("3 of 3 done, 2 failed (1-2); task 1: ")

    def test_a_task_that_never_started_and_has_no_record_was_cancelled(self):
        report = array_report([self.part(0, "COMPLETED", exit_code=0)], range(2), NOW)

        assert (Phase.CANCELLED, 1, 1) == (report.phase, report.tasks.succeeded, report.tasks.cancelled)

    def test_an_unknown_word_of_one_leaves_all_as_they_were(self):
        report = array_report([self.part(0, "FLUMMOXED"), self.part(1, "COMPLETED")], range(2), NOW)

        assert report.phase is None

    def test_of_a_task_that_was_requeued_the_latest_run_counts(self):
        runs = [self.part(0, "NODE_FAIL", submitted=1), self.part(0, "COMPLETED", submitted=2, exit_code=0)]

        assert Phase.SUCCEEDED is array_report(runs, range(1), NOW).phase

    @pytest.mark.parametrize(
        ("text", "indices"),
        [
            ("0-3", (0, 1, 2, 3)),
            ("1,3,5-9:2%4", (1, 3, 5, 7, 9)),
            ("[2-3%2]", (2, 3)),
            ("", ()),
            ("0-2,...", (0, 1, 2)),
        ],
    )
    def test_indices_are_read(self, text, indices):
        assert indices == indices_in(text)

    def test_bit_maps_are_read(self):
        assert (2, 3) == in_bit_map("0xC")


class TestNames:
    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("n1", ("n1",)),
            ("n[1-3,7],gpu01", ("n1", "n2", "n3", "n7", "gpu01")),
            ("n[08-10]", ("n08", "n09", "n10")),
            ("", ()),
            ("None assigned", ()),
            ("n[1-9999]", ("n[1-9999]",)),
        ],
    )
    def test_nodes_are_told_apart(self, text, names):
        assert names == expanded(text)

    @pytest.mark.parametrize(
        ("name", "path"),
        [("%j.out", "12.out"), ("%x-%4a.%u", "key-0003.alice"), ("100%%", "100%"), ("%q", "%q"), ("a\\%j", "a%j")],
    )
    def test_patterns_are_filled_in(self, name, path):
        assert path == filled(name, {"j": "12", "x": "key", "a": "3", "u": "alice"})

    @pytest.mark.parametrize("path", ["/scratch/../etc/passwd", "/scratchy/a", "/scratch", "/etc/passwd"])
    def test_what_is_not_beneath_the_root_is_told(self, path):
        assert not is_beneath(path, "/scratch")
        assert is_beneath("/scratch/a", "/scratch/")
