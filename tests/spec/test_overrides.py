from __future__ import annotations

from datetime import timedelta

import pytest

from bascule.errors import Mistake
from bascule.spec import job_from_document, parse_time, with_overrides
from tests.spec.written import job


@pytest.fixture
def given():
    return job_from_document(job(resources={"nodes": 1, "tasks": 4}, options={"qos": "high", "account": "old"}))


class TestOverrides:
    def test_nothing_asked_changes_nothing(self, given):
        assert given == with_overrides(given)

    def test_what_is_asked_goes_over_the_file(self, given):
        changed = with_overrides(
            given, target="other", name="new", partition="main", account="proj1", nodes=3, time="1-12"
        )

        assert "new" == changed.name
        assert "other" == changed.spec.target.name
        assert {"qos": "high", "account": "proj1", "partition": "main"} == changed.spec.options
        assert 3 == changed.spec.resources.nodes
        assert 4 == changed.spec.resources.tasks
        assert timedelta(hours=36) == changed.spec.resources.walltime

    def test_a_wrapped_command_replaces_the_script(self, given):
        changed = with_overrides(given, wrap="hostname")

        assert "#!/bin/sh\nhostname\n" == changed.spec.run.script

    @pytest.mark.parametrize(
        "asked", [{"name": "No Name"}, {"nodes": 0}, {"target": "?"}, {"wrap": "a\0"}, {"account": "\0"}]
    )
    def test_it_is_checked_as_a_file_is(self, given, asked):
        with pytest.raises(Mistake, match="`command line` has 1 problem"):
            with_overrides(given, **asked)


class TestTimes:
    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            ("90s", 90),
            ("1h30m", 5400),
            ("30", 1800),
            ("1:30", 90),
            ("1:00:00", 3600),
            ("1-12", 129600),
            ("1-0:30", 88200),
            ("1-00:00:01", 86401),
        ],
    )
    def test_ours_and_slurms_forms(self, text, seconds):
        assert timedelta(seconds=seconds) == parse_time(text)

    @pytest.mark.parametrize(
        "text", ["", "0", "x", "1h30", "-5", "1:2:3:4", "UNLIMITED", "\uff19", "99999-0", "9" * 5000]
    )
    def test_others_are_told(self, text):
        with pytest.raises(Mistake) as caught:
            parse_time(text)

        assert caught.value.hint
        assert len(caught.value.message) < 200
