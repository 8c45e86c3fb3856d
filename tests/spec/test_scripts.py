from __future__ import annotations

import pytest

from bascule.errors import Mistake
from bascule.spec import job_from_script, job_from_wrap
from tests.spec.written import job, problems_of

HEAD = "#!/bin/sh\n"
LARGEST = HEAD + "x" * (1024 * 1024 - len(HEAD))


class TestScripts:
    @pytest.mark.parametrize(
        "script",
        [
            "#!/bin/sh",
            f"{HEAD}echo \"it's\" '$HOME' `id` \\ \\n \t\x1b[31m\r\n",
            f"{HEAD}größe 作业 😀 \ufeff\x85\u2028",
            "#!/usr/bin/env python3\nprint(1)\n\n\n",
            LARGEST,
        ],
        ids=["no line end", "quotes and CRLF", "unicode", "trailing lines", "1 MiB"],
    )
    def test_what_can_run_is_taken(self, script):
        assert () == problems_of(job(run={"script": script}))

    @pytest.mark.parametrize(
        ("script", "words"),
        [
            ("", "must not be empty"),
            (f"{HEAD}\n\0", "NUL character in its line 3"),
            ("\n \n", "the script is empty"),
            ("echo hello\n", "does not begin with `#!`"),
            ("\ufeff#!/bin/sh\n", "does not begin with `#!`"),
            ("\n#!/bin/sh\n", "does not begin with `#!`"),
            ("#!/bin/sh\r\necho hello\r\n", "ends in CR LF"),
            ("#!\n", "names no program"),
            (LARGEST + "x", "longer than 1,048,576 characters"),
            (LARGEST[:-1] + "ü", "has 1,048,577 bytes, more than 1 MiB"),
            (HEAD + "\ud800", "is no valid Unicode"),
        ],
        ids=[
            "nothing",
            "NUL",
            "blanks",
            "no shebang",
            "BOM",
            "blank line",
            "CRLF",
            "no program",
            "long",
            "bytes",
            "surrogate",
        ],
    )
    def test_what_cannot_is_refused_with_the_reason(self, script, words):
        [problem] = problems_of(job(run={"script": script}))

        assert words in problem


class TestScriptFiles:
    def test_it_becomes_a_job_where_it_is_called(self, tmp_path, monkeypatch):
        (tmp_path / "My Job_1.sh").write_bytes(b"#!/bin/sh\necho '\xc3\xbc'\r\n")
        monkeypatch.chdir(tmp_path)

        found = job_from_script("My Job_1.sh", arguments=["a", "b c"])

        assert "my-job-1" == found.name
        assert "#!/bin/sh\necho 'ü'\r\n" == found.spec.run.script
        assert ("a", "b c") == found.spec.arguments
        assert str(tmp_path) == found.spec.working_directory
        assert "local" == found.spec.target.name

    def test_name_and_target_can_be_given(self, tmp_path):
        (tmp_path / "x.sh").write_text(HEAD)

        found = job_from_script(tmp_path / "x.sh", name="other", target="hpc")
        assert found.spec.working_directory is None  # the folder here is none on a cluster

        assert "other" == found.name
        assert "hpc" == found.spec.target.name

    def test_a_name_that_is_given_is_checked(self, tmp_path):
        (tmp_path / "x.sh").write_text(HEAD)

        with pytest.raises(Mistake) as caught:
            job_from_script(tmp_path / "x.sh", name="No Name")

        assert "for instance `no-name`" in caught.value.problems[0]

    def test_other_bytes_than_utf8_are_told_with_their_place(self, tmp_path):
        (tmp_path / "x.sh").write_bytes(b"#!/bin/sh\n# gr\xf6\xdfe\n")

        with pytest.raises(Mistake) as caught:
            job_from_script(tmp_path / "x.sh")

        assert (
            "x.sh:2: the script is not UTF-8: the byte 0xf6 at offset 14; save it as UTF-8" in caught.value.problems[0]
        )

    def test_a_file_that_cannot_run_is_refused(self, tmp_path):
        (tmp_path / "x.sh").write_bytes(b"#!/bin/sh\r\n")

        with pytest.raises(Mistake) as caught:
            job_from_script(tmp_path / "x.sh")

        assert "ends in CR LF" in caught.value.problems[0]

    def test_more_than_1_mib_is_refused(self, tmp_path):
        (tmp_path / "x.sh").write_text(LARGEST + "x")

        with pytest.raises(Mistake, match="is larger than 1 MiB"):
            job_from_script(tmp_path / "x.sh")

    def test_a_folder_that_is_gone_is_told(self, tmp_path, monkeypatch):
        (tmp_path / "x.sh").write_text(HEAD)
        (tmp_path / "gone").mkdir()
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()

        with pytest.raises(Mistake, match="the current folder does not exist"):
            job_from_script(tmp_path / "x.sh")


class TestWrap:
    def test_a_command_becomes_a_script(self):
        assert "#!/bin/sh\nhostname; date\n" == job_from_wrap("hostname; date").spec.run.script

    def test_no_command_is_told(self):
        with pytest.raises(Mistake, match="names no command"):
            job_from_wrap("  ")
