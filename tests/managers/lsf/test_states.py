"""What LSF's words become: states, ends, histories and times, in every form in which they come."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bascule.managers.lsf.ends import End, by_index, from_files, outcome_in
from bascule.managers.lsf.moments import moment_in
from bascule.managers.lsf.payload import tree_in
from bascule.managers.lsf.reasons import ENDINGS, NUMBERS, word_in
from bascule.managers.lsf.records import Record, jobs_in
from bascule.managers.lsf.states import report_of, status_of
from bascule.model import Phase, Reason

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATER = datetime(2026, 11, 30, 12, 5, tzinfo=UTC)


def record(status: str, **more) -> Record:
    return Record("236", name="key", status=status, **more)


def ended(end=None, *, limit=None, **more):
    return report_of(record("EXIT", started=NOON, ended=LATER, **more), end or End(), limit=limit)


class TestWords:
    @pytest.mark.parametrize(
        ("word", "phase", "reason"),
        [
            ("PEND", Phase.QUEUED, ""),
            ("Pending", Phase.QUEUED, ""),
            ("PENDING", Phase.QUEUED, ""),
            ("WAIT", Phase.QUEUED, ""),
            ("PROV", Phase.QUEUED, ""),
            ("PSUSP", Phase.HELD, ""),
            ("RUN", Phase.RUNNING, ""),
            ("Running", Phase.RUNNING, ""),
            ("USUSP", Phase.HELD, Reason.SUSPENDED),
            ("SSUSP", Phase.HELD, Reason.SUSPENDED),
            ("DONE", Phase.SUCCEEDED, ""),
            ("Done", Phase.SUCCEEDED, ""),
            ("PDONE", Phase.SUCCEEDED, ""),
            ("ZOMBI", Phase.FAILED, Reason.NODE_FAILED),
        ],
    )
    def test_short_and_long_words_mean_the_same(self, word, phase, reason):
        report = report_of(record(word), End())

        assert (phase, reason) == (report.phase, report.reason)

    def test_the_long_word_for_three_is_told_by_the_start(self):
        assert "" == report_of(record("Suspended"), End()).reason
        assert Reason.SUSPENDED == report_of(record("Suspended", started=NOON), End()).reason

    @pytest.mark.parametrize("word", ["UNKWN", "FLUMMOXED", "", "exit?"])
    def test_a_word_that_says_nothing_has_no_phase(self, word):
        report = report_of(record(word), End())

        assert report.phase is None
        assert not report.is_over

    def test_why_it_waits_is_told_in_lsfs_words(self):
        report = report_of(record("PEND", pending="Not enough hosts"), End())

        assert ("Not enough hosts", "waits: Not enough hosts") == (report.why, report.explanation)


class TestEnds:
    @pytest.mark.parametrize(
        ("status", "code", "signal"),
        [
            (0, 0, None),
            (3, 3, None),
            (130, None, 2),
            (137, None, 9),
            (768, 3, None),
            (9 + 256 * 0 + 512, None, 9),
            (137 << 8, None, 9),
        ],
    )
    def test_lsfs_number_is_read_in_both_forms(self, status, code, signal):
        assert (code, signal) == status_of(status)

    def test_the_wrappers_word_is_exact(self):
        report = ended(End(exit_code=137, signal=None, ended=LATER), exit_status=137)

        assert (Reason.EXIT_CODE, 137, None) == (report.reason, report.exit_code, report.signal)

    def test_a_signal_is_told_as_such(self):
        report = ended(End(exit_code=137, signal=9), exit_status=137)

        assert (Reason.SIGNAL, None, 9) == (report.reason, report.exit_code, report.signal)

    @pytest.mark.parametrize("word", sorted(ENDINGS))
    def test_lsfs_own_reason_wins(self, word):
        report = ended(End(exit_code=143, signal=15, term=word))

        assert ENDINGS[word].phase is report.phase
        assert ENDINGS[word].sentence == report.explanation
        assert word == report.why

    def test_a_word_that_says_no_more_than_a_signal_leaves_it_at_that(self):
        assert Reason.SIGNAL == ended(End(exit_code=139, signal=11, term="TERM_EXTERNAL_SIGNAL")).reason

    def test_a_signal_at_the_walltime_is_the_walltimes(self):
        assert Reason.TIMED_OUT == ended(End(exit_code=140, signal=12), limit=300).reason
        assert Reason.SIGNAL == ended(End(exit_code=140, signal=12), limit=301).reason

    def test_what_the_wrapper_could_not_do_is_told(self):
        report = ended(End(failed="the folder /x is not there"), exit_status=125)

        assert (Reason.START_FAILED, "the folder /x is not there") == (report.reason, report.explanation)

    def test_what_was_ended_before_its_start_was_cancelled(self):
        assert Phase.CANCELLED is report_of(record("EXIT", exit_status=130), End(looked=True)).phase
        assert Phase.CANCELLED is report_of(record("EXIT", exit_status=130, ran=False), End()).phase

    def test_what_may_have_started_was_not(self):
        """
        A start that cannot be read, and a folder that nobody could look into, prove nothing.
        """
        assert Phase.FAILED is report_of(record("EXIT", exit_status=3), End()).phase
        assert Phase.FAILED is report_of(record("EXIT", exit_status=3, ran=True), End(looked=True)).phase

    def test_an_end_that_we_asked_for_is_a_cancellation(self):
        assert Phase.CANCELLED is ended(End(exit_code=130, signal=2, was_asked=True)).phase

    def test_a_job_that_was_quicker_keeps_its_own_end(self):
        report = ended(End(exit_code=3, was_asked=True))

        assert (Phase.FAILED, 3) == (report.phase, report.exit_code)

    def test_a_missing_wrapper_is_no_exit_code_of_the_script(self):
        assert Reason.START_FAILED == ended(exit_status=127).reason

    def test_nothing_known_is_still_an_end(self):
        report = ended()

        assert (Phase.FAILED, None) == (report.phase, report.exit_code)

    def test_numbers_stand_for_words(self):
        assert "TERM_RUNLIMIT" == word_in("5")
        assert "" == word_in("0")
        assert "" == word_in("99")
        assert set(NUMBERS.values()) <= set(ENDINGS)


class TestFiles:
    def test_start_and_result_are_read(self):
        end = from_files({"start": "236 1700000000 .\n", "result": "236 1700000060 3 0 .\n"}, "236")

        assert (3, None) == (end.exit_code, end.signal)
        assert 60 == (end.ended - end.started).total_seconds()

    @pytest.mark.parametrize("text", ["", "236 17", "236 1700000060 3 0", "x y z .\n", "236 1700000060 3 .\n"])
    def test_half_a_line_is_none(self, text):
        assert End(looked=True) == from_files({"result": text}, "236")

    def test_another_jobs_result_says_nothing(self):
        assert from_files({"result": "111 1700000060 3 0 .\n"}, "236").exit_code is None

    def test_the_reason_is_read_from_the_report_and_not_from_what_was_printed(self):
        report = "Job <key> ...\nTERM_MEMLIMIT: job killed after reaching ...\nThe output (if any) follows:\n"

        assert "TERM_MEMLIMIT" == from_files({"report": report}, "1").term
        assert "" == from_files({"report": f"The output (if any) follows:\n{report}"}, "1").term

    def test_of_several_runs_the_last_ones_reason_counts(self):
        first = "Sender: LSF System <a>\nTERM_PREEMPT: job killed\nThe output (if any) follows:\n"
        second = "Sender: LSF System <a>\nExited with exit code 3.\nThe output (if any) follows:\n"

        assert "" == from_files({"report": first + second}, "1").term
        assert "TERM_PREEMPT" == from_files({"report": second + first}, "1").term

    def test_tasks_are_told_apart(self):
        files = {
            "bascule.result.1": b"236 1700000060 0 0 .\n",
            "bascule.result.7": b"236 1700000060 4 0 .\n",
            "bascule.start.8": b"236 1700000000 .\n",
            "bascule.result.x": b"236 1700000060 0 0 .\n",
        }

        ends = by_index(files, "236")
        assert {1: 0, 7: 4, 8: None} == {index: end.exit_code for index, end in ends.items()}
        assert [True, True, False] == [ends[index].is_told for index in (1, 7, 8)]


class TestHistory:
    @pytest.mark.parametrize(
        ("events", "outcome"),
        [
            (["Submitted from host <a>", "Done successfully. The CPU time used is 0.1 seconds;"], ("DONE", 0, "")),
            (["Exited with exit code 3. The CPU time used"], ("EXIT", 3, "")),
            (["Mon Nov 30 12:00:00: Exited with exit code 3."], ("EXIT", 3, "")),
            (["Exited by signal 9."], ("EXIT", 137, "")),
            (["Exited by signal 24.", "Completed <exit>; TERM_CPULIMIT: job killed"], ("EXIT", 152, "TERM_CPULIMIT")),
            (["Starting (Pid 1);"], ("RUN", None, "")),
            (["Exited with exit code 99.", "Job has been requeued;"], ("PEND", None, "")),
            (["Exited with exit code 99.", "Job has been requeued;", "Done successfully."], ("DONE", 0, "")),
            (["1", "236", "alice"], ("", None, "")),
            (["echo Done successfully said nobody"], ("", None, "")),
        ],
    )
    def test_bhists_sentences_tell_the_end(self, events, outcome):
        assert outcome == outcome_in(events)


class TestRecords:
    @pytest.mark.parametrize(
        "body",
        [
            b'{"@total":"1","job":{"jobId":"236","jobName":"key","jobStatus":"RUN"}}',
            b'{"@total":"1","job":[{"jobId":236,"jobName":"key","jobStatus":"RUN"}]}',
            b'{"jobs":{"@total":"1","pseudoJob":{"id":236,"name":"key","status":"RUN"}}}',
            b'{"@total":"1","Job":[{"id":"236","name":"key","status":"RUN","exitCode":""}]}',
            b'<jobs total="1"><job><jobId>236</jobId><jobName>key</jobName><jobStatus>RUN</jobStatus></job></jobs>',
            b"<Jobs><Job><name>key</name><id>236</id><status>RUN</status><cmd>x</cmd></Job></Jobs>",
        ],
    )
    def test_one_job_is_read_in_every_shape(self, body):
        [found] = jobs_in(tree_in(body))

        assert ("236", None, "key", "RUN") == (found.id, found.index, found.key, found.status)

    @pytest.mark.parametrize(
        "raw",
        [
            '{"jobId":"236[5]","jobName":"key[5]","jobStatus":"RUN"}',
            '{"jobId":"236","jobName":"key[5]","jobStatus":"RUN"}',
            '{"jobId":"236[5]","jobName":"key","jobStatus":"RUN"}',
            '{"jobId":"236","arrayIndex":"5","jobName":"key","jobStatus":"RUN"}',
        ],
    )
    def test_a_task_is_told_by_any_of_its_signs(self, raw):
        [found] = jobs_in(tree_in(raw.encode()))

        assert ("236", 5, "key") == (found.id, found.index, found.key)

    def test_an_array_that_waits_as_one_is_no_task(self):
        [found] = jobs_in(tree_in(b'{"jobId":"236","jobName":"key[1-10]%2","jobStatus":"PEND"}'))

        assert (None, "key") == (found.index, found.key)

    def test_hosts_lose_their_slots(self):
        [found] = jobs_in(tree_in(b'{"jobId":"1","jobStatus":"RUN","exHosts":"4*hosta 2*hostb,hosta"}'))

        assert ("hosta", "hostb") == found.hosts

    @pytest.mark.parametrize("body", [b"[]", b"{}", b'{"jobId":"0","jobStatus":"RUN"}', b'{"id":"x","status":"RUN"}'])
    def test_what_is_no_job_is_none(self, body):
        assert [] == jobs_in(tree_in(body))


class TestPayload:
    @pytest.mark.parametrize(
        "body",
        [
            b'{"job": [',
            b"[" * 100_000,
            b"\xff\xfe\x00",
            b"<html><body>proxy</body></html>",
            b"<a><b></a>",
            b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>',
            b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>',
            b"<a>" * 200,
        ],
    )
    def test_what_cannot_be_read_is_said_so(self, body):
        with pytest.raises(ValueError, match=r"\w"):
            tree_in(body)

    def test_plain_words_are_words(self):
        assert "ok" == tree_in(b"ok\n")


class TestMoments:
    @pytest.mark.parametrize(
        "text",
        [
            "2026-11-30T12:00:00Z",
            "2026-11-30 12:00:00 GMT",
            "2026-11-30T13:00:00+01:00",
            "2026-11-30T12:00:00.000+0000",
            "Mon Nov 30 12:00:00 UTC 2026",
            "Nov 30 2026 12:00:00 GMT",
            "1796040000",
            "1796040000000",
        ],
    )
    def test_each_form_is_the_same_time(self, text):
        assert NOON == moment_in(text)

    @pytest.mark.parametrize(
        "text", ["", "-", "2026-11-30 12:00:00", "Mon Nov 30 12:00:00 CET 2026", "2026-13-40T12:00:00Z", "0"]
    )
    def test_a_time_whose_zone_cannot_be_told_is_none(self, text):
        assert moment_in(text) is None

    def test_a_field_may_tell_the_zone(self):
        assert NOON == moment_in("2026-11-30 12:00:00", is_gmt=True)
        assert NOON == moment_in("Mon Nov 30 12:00:00 2026", is_gmt=True)
