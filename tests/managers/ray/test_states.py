"""What Ray's words mean, those of old heads too."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from bascule.managers.ray.states import report_of
from bascule.managers.ray.wire import Details, jobs_in
from bascule.model import Phase, Reason

AT = 1_796_054_058_446


def details(status, **more):
    return Details(status, submission_id="j-1", start_time=AT, **more)


@pytest.mark.parametrize(
    ("status", "phase"),
    [
        ("PENDING", Phase.QUEUED),
        ("RUNNING", Phase.RUNNING),
        ("SUCCEEDED", Phase.SUCCEEDED),
        ("STOPPED", Phase.CANCELLED),
        ("FAILED", Phase.FAILED),
        ("FLUMMOXED", None),
    ],
)
def test_each_word_has_a_phase(status, phase):
    assert (phase, status) == ((report := report_of(details(status))).phase, report.state)


@pytest.mark.parametrize(
    ("told", "reason", "exit_code", "signal"),
    [
        ({"error_type": "JOB_ENTRYPOINT_COMMAND_ERROR", "driver_exit_code": 3}, Reason.EXIT_CODE, 3, None),
        ({"error_type": "JOB_ENTRYPOINT_COMMAND_ERROR", "driver_exit_code": 137}, Reason.EXIT_CODE, 137, None),
        ({"error_type": "JOB_ENTRYPOINT_COMMAND_ERROR", "driver_exit_code": -9}, Reason.SIGNAL, None, 9),
        ({"message": "Job entrypoint command failed with exit code 4, last available"}, Reason.EXIT_CODE, 4, None),
        ({"message": "Job failed due to an application error, exit code -15."}, Reason.SIGNAL, None, 15),
        ({"error_type": "RUNTIME_ENV_SETUP_FAILURE"}, Reason.START_FAILED, None, None),
        ({"message": "runtime_env setup failed: no such package"}, Reason.START_FAILED, None, None),
        ({"error_type": "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"}, Reason.START_FAILED, None, None),
        ({"error_type": "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE"}, Reason.START_FAILED, None, None),
        ({"error_type": "JOB_SUPERVISOR_ACTOR_DIED", "message": "it died"}, Reason.NODE_FAILED, None, None),
        ({"error_type": "JOB_SUPERVISOR_ACTOR_DIED", "message": "OutOfMemoryError"}, Reason.OUT_OF_MEMORY, None, None),
        ({"error_type": "SOMETHING_NEW", "message": "so it went"}, Reason.NODE_FAILED, None, None),
        ({}, Reason.NODE_FAILED, None, None),
    ],
)
def test_a_failure_has_its_reason(told, reason, exit_code, signal):
    report = report_of(details("FAILED", **told))

    assert (reason, exit_code, signal) == (report.reason, report.exit_code, report.signal)
    assert report.explanation


def test_a_start_is_not_the_submit():
    """
    Ray's `start_time` is that of the submit: a walltime counted from it would end a job that waited.
    """
    report = report_of(details("RUNNING"))

    assert datetime.fromtimestamp(AT / 1000, UTC) == report.submitted_at
    assert report.started_at is None


def test_a_log_in_the_message_is_not_repeated():
    said = "Job entrypoint command failed with exit code 3, last available logs (truncated):\n" + "secret\n" * 3000

    assert "ended with exit code 3" == report_of(details("FAILED", message=said, driver_exit_code=3)).explanation


def test_times_that_nobody_can_have_meant_are_none():
    assert report_of(Details("RUNNING", start_time=1e300)).submitted_at is None
    assert report_of(Details("STOPPED", start_time=-5, end_time=0)).finished_at is None


class TestList:
    def test_drivers_that_nobody_submitted_are_left_out(self):
        driver = {"type": "DRIVER", "job_id": "01000000", "submission_id": None, "status": "RUNNING"}
        ours = {"type": "SUBMISSION", "submission_id": "j-1", "status": "RUNNING"}

        listed = jobs_in(msgspec.json.encode([driver, ours]))

        assert (["j-1"], True) == (list(listed.jobs), listed.is_whole)

    def test_one_row_that_cannot_be_read_hides_no_other(self):
        strange = {"type": "SUBMISSION", "submission_id": "j-0", "status": None}
        ours = {"type": "SUBMISSION", "submission_id": "j-1", "status": "RUNNING"}

        listed = jobs_in(msgspec.json.encode([strange, ours]))

        assert (["j-1"], False) == (list(listed.jobs), listed.is_whole)

    def test_what_is_no_list_is_no_empty_list(self):
        with pytest.raises(msgspec.DecodeError):
            jobs_in(b'{"jobs": []}')
