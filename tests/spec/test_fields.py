"""What single fields take, and what is said of what they do not."""

from __future__ import annotations

import pytest

from bascule.model import RETRYABLE, Reason
from tests.spec.written import job, problems_of, target


def named(name):
    return {**job(), "metadata": {"name": name}}


def labelled(key, value):
    return {**job(), "metadata": {"name": "train", "labels": {key: value}}}


class TestNames:
    @pytest.mark.parametrize("name", ["a", "0", "a.b-c", "train-7", "a" * 253])
    def test_dns_names_are_names(self, name):
        assert () == problems_of(named(name))

    @pytest.mark.parametrize(
        ("name", "usable"),
        [
            ("Train", "train"),
            ("my job", "my-job"),
            ("a;rm -rf /", "a-rm-rf"),
            ("$(id)", "id"),
            ("größe", "groe"),
            ("作业", "job"),
            ("-a-", "a"),
            ("a..b", "a-b"),
            ("a\nb", "a-b"),
        ],
    )
    def test_others_get_a_usable_one_in_the_hint(self, name, usable):
        [problem] = problems_of(named(name))

        assert "is no name" in problem
        assert problem.endswith(f"for instance `{usable}`")
        assert "\n" not in problem

    @pytest.mark.parametrize("name", ["a" * 254, ""])
    def test_length_is_bounded(self, name):
        assert 1 == len(problems_of(named(name)))

    @pytest.mark.parametrize("field", ["target", "after"])
    def test_names_of_others_are_checked_too(self, field):
        spec = {"target": {"name": "A b"}} if field == "target" else {"after": [{"job": "A b"}]}

        assert "is no name" in problems_of(job(**spec))[0]


class TestLabels:
    @pytest.mark.parametrize(
        ("key", "value"),
        [("project", "x"), ("example.org/Project_1", ""), ("a", "A.b-c_d"), ("a" * 63, "b" * 63)],
    )
    def test_kubernetes_labels_are_labels(self, key, value):
        assert () == problems_of(labelled(key, value))

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            *[(key, "x") for key in ("", "a b", "-a", "a/b/c", "A/b", "a" * 64, f"{'a' * 254}/b")],
            *[("a", value) for value in ("-", "a b", "ü", "b" * 64, "a/b")],
        ],
    )
    def test_others_are_told(self, key, value):
        assert 1 == len(problems_of(labelled(key, value)))


class TestEnv:
    @pytest.mark.parametrize("name", ["PATH", "_x", "a1"])
    def test_names_of_variables(self, name):
        assert () == problems_of(job(env={name: "anything = $at \n all"}))

    @pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "a=b", "ä", "x\n"])
    def test_others_are_told(self, name):
        assert 1 == len(problems_of(job(env={name: "x"})))

    def test_the_hint_gives_a_usable_one(self):
        assert problems_of(job(env={"1-a": "x"}))[0].endswith("for instance `_1_a`")

    def test_a_thousand_are_the_most(self):
        assert () == problems_of(job(env={f"A{n}": "" for n in range(1000)}))
        assert ("spec.env: more than 1,000 entries",) == problems_of(job(env={f"A{n}": "" for n in range(1001)}))

    @pytest.mark.parametrize("text", ["a\0b", "\ud800"])
    def test_what_no_program_can_be_given_is_told(self, text):
        assert 1 == len(problems_of(job(env={"A": text})))


class TestDurations:
    @pytest.mark.parametrize("text", ["90s", "15m", "1h30m", "2d", "1.5s", "250ms"])
    def test_spans(self, text):
        assert () == problems_of(job(resources={"walltime": text}))

    @pytest.mark.parametrize("text", ["", "1", "1:30:00", "-1h", "1w", "1h ", "\u0661h", "0s", "4000d", "9" * 31 + "d"])
    def test_others_are_told(self, text):
        assert 1 == len(problems_of(job(resources={"walltime": text})))

    def test_nothing_is_a_time_to_live(self):
        assert () == problems_of(job(ttlAfterFinished="0s"))


class TestQuantities:
    @pytest.mark.parametrize("text", ["1", "800M", "8Gi", "1.5Gi"])
    def test_amounts(self, text):
        assert () == problems_of(job(resources={"memoryPerNode": text}))

    @pytest.mark.parametrize("text", ["", "8 Gi", "8GB", "-1", "0", "500m", "\uff11"])
    def test_others_are_told(self, text):
        assert 1 == len(problems_of(job(resources={"memoryPerNode": text})))


class TestArrays:
    @pytest.mark.parametrize("text", ["0", "0-99", "1,3,5-9:2", "0-99999", "4000000"])
    def test_indices(self, text):
        assert () == problems_of(job(array={"indices": text}))

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "must not be empty"),
            ("a", "is no index"),
            ("1,", "is no index"),
            ("1-", "is no index"),
            ("-1", "is no index"),
            ("\u0661", "is no index"),
            ("9-1", "ends before it begins; write `1-9`"),
            ("0-9:0", "a step of 0"),
            ("0-9%2", "as `array.parallelism`"),
            ("1,0-2", "the index 1 is given twice"),
            ("0-100000", "more than 100,000 tasks"),
            ("4000001", "is larger than 4,000,000"),
        ],
    )
    def test_others_are_told(self, text, words):
        [problem] = problems_of(job(array={"indices": text}))

        assert words in problem


class TestRetry:
    @pytest.mark.parametrize("reason", sorted(RETRYABLE))
    def test_ends_that_a_further_attempt_could_change(self, reason):
        assert () == problems_of(job(retry={"limit": 1, "reasons": [str(reason)]}))

    @pytest.mark.parametrize("reason", sorted(set(Reason) - RETRYABLE))
    def test_no_others_are_retried(self, reason):
        assert 1 == len(problems_of(job(retry={"limit": 1, "reasons": [str(reason)]})))

    def test_a_refusal_is_never_retried(self):
        assert "is never retried" in problems_of(job(retry={"reasons": ["Refused"]}))[0]


class TestSignals:
    @pytest.mark.parametrize("name", ["USR1", "SIGUSR1", "TERM"])
    def test_names(self, name):
        assert () == problems_of(job(signal={"name": name, "before": "1m"}))

    @pytest.mark.parametrize("name", ["usr1", "10", "SIGSIGUSR1", "RTMIN", "KILL", "SIGSTOP"])
    def test_others_are_told(self, name):
        assert 1 == len(problems_of(job(signal={"name": name, "before": "1m"})))


class TestPaths:
    @pytest.mark.parametrize("path", ["scratch", "~/x", "$HOME", "", "/a\nb", "/a\0"])
    def test_a_working_directory_is_absolute(self, path):
        assert 1 == len(problems_of(job(workingDirectory=path)))

    @pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "~/x", ""])
    def test_files_stay_in_their_folder(self, path):
        inputs = [{"path": path, "content": "x"}]

        assert 1 == len(problems_of(job(files={"inputs": inputs})))
        assert 1 == len(problems_of(job(files={"outputs": [{"path": path}]})))

    @pytest.mark.parametrize("url", ["http://x.org/a", "file:///etc/passwd", "https://u:p@x.org/a", "https:///a", "x"])
    def test_files_are_fetched_over_https(self, url):
        assert 1 == len(problems_of(job(files={"inputs": [{"path": "a", "url": url}]})))


class TestFreeMappings:
    @pytest.mark.parametrize(
        "value",
        [
            "x" * 300_000,
            list(range(10_001)),
            2**64,
            float("nan"),
            {1: 2},
            "\ud800",
            b"bytes",
        ],
    )
    def test_only_json_of_bounded_size(self, value):
        assert 1 == len(problems_of(job(options={"a": value})))

    def test_depth_is_bounded(self):
        value: object = 1
        for _ in range(40):
            value = [value]

        assert "nested deeper" in problems_of(job(options={"a": value}))[0]


class TestTargets:
    @pytest.mark.parametrize(
        "spec",
        [
            {"url": "ftp://x"},
            {"url": "slurm.example.org:6820"},
            {"url": "https://"},
            {"url": "https://x:99999"},
            {"url": "https://x/#a"},
            {"tls": {"ca": "x"}},
            {"tls": {"verify": False}},
            {"network": {"allow": ["10.0.0.1/8"]}},
            {"network": {"allow": ["x"]}},
            {"limits": {"activeJobs": 0}},
            {"limits": {"requestsPerSecond": 0}},
            {"submission": "held"},
            {"manager": "Slurm!"},
            {"files": {"root": "scratch"}},
            {"files": {"sources": ["https://x.org/a"]}},
            {"mirror": "none"},
        ],
    )
    def test_what_does_not_fit_is_told(self, spec):
        assert 1 == len(problems_of(target(**spec)))

    def test_a_password_in_an_address_is_told_and_not_repeated(self):
        [problem] = problems_of(target(url="https://alice:hunter2@example.org"))

        assert "must not hold a user or a password" in problem
        assert "hunter2" not in problem

    def test_a_private_key_is_refused_and_not_repeated(self):
        marks = "-----BEGIN {0}-----\nhunter2\n-----END {0}-----\n"

        [problem] = problems_of(target(tls={"ca": marks.format("PRIVATE" + " KEY")}))

        assert "holds a private key" in problem
        assert "hunter2" not in problem
