"""The exit codes are as the reference says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bascule.cli.exits import Exit, code_of_error, code_of_job
from bascule.errors import Conflict, Fenced, Mistake, Refused, StoreFailed, Unauthorized, Unavailable, Uncertain
from bascule.model import JobStatus, Phase, Reason

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "exit-codes.md"


class TestOfJobs:
    @pytest.mark.parametrize(
        ("code", "status"),
        [
            (0, JobStatus(phase=Phase.SUCCEEDED, exit_code=0)),
            (3, JobStatus(phase=Phase.FAILED, reason=Reason.EXIT_CODE, exit_code=3)),
            (64, JobStatus(phase=Phase.FAILED, reason=Reason.EXIT_CODE, exit_code=64)),
            (137, JobStatus(phase=Phase.FAILED, reason=Reason.SIGNAL, signal=9)),
            (137, JobStatus(phase=Phase.FAILED, reason=Reason.OUT_OF_MEMORY, signal=9)),
            (72, JobStatus(phase=Phase.FAILED, reason=Reason.TIMED_OUT, signal=15)),
            (72, JobStatus(phase=Phase.FAILED, reason=Reason.TIMED_OUT, exit_code=143)),
            (71, JobStatus(phase=Phase.FAILED, reason=Reason.LOST)),
            (73, JobStatus(phase=Phase.CANCELLED, exit_code=143)),
            (65, JobStatus(phase=Phase.FAILED, reason=Reason.REFUSED)),
            (65, JobStatus(phase=Phase.FAILED, reason=Reason.DEPENDENCY_NOT_MET)),
            (75, JobStatus(phase=Phase.FAILED, reason=Reason.NODE_FAILED, exit_code=1)),
            (75, JobStatus(phase=Phase.FAILED, reason=Reason.PREEMPTED, signal=15)),
            (127, JobStatus(phase=Phase.FAILED, reason=Reason.START_FAILED, exit_code=127)),
            (126, JobStatus(phase=Phase.FAILED, reason=Reason.START_FAILED)),
            (1, JobStatus(phase=Phase.FAILED, reason="ManagersOwnWord")),
        ],
        ids=lambda value: f"{value.phase} {value.reason} {value.exit_code}" if isinstance(value, JobStatus) else None,
    )
    def test_the_reason_wins_over_the_jobs_own_code(self, code, status):
        assert code == code_of_job(status)

    def test_no_failure_looks_like_success(self):
        assert all(code_of_job(JobStatus(phase=Phase.FAILED, reason=reason)) for reason in Reason)


class TestOfErrors:
    @pytest.mark.parametrize(
        ("code", "kind"),
        [
            (64, Mistake),
            (65, Refused),
            (69, Unavailable),
            (69, Unauthorized),
            (75, Conflict),
            (75, StoreFailed),
            (75, Uncertain),
            (75, Fenced),
        ],
    )
    def test_it_says_what_now(self, code, kind):
        assert code == code_of_error(kind("..."))


def test_the_reference_has_every_code():
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE.read_text(), flags=re.MULTILINE)}

    assert set(Exit) == listed
