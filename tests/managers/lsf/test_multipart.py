"""Bodies of many parts: what we send is read by another reader, and what we get may hold anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.managers.lsf.multipart import Attachment, files_in, form, upload
from tests.fakes.lsf.forms import submit_in, upload_in

PARAMETERS = {"JOB_NAME": "key", "COMMANDTORUN": "/bin/sh ./x", "EXTRA_PARAMS": "-R 'select[a<b && c>d]' -P \"ü\""}


class TestSubmit:
    def test_another_reader_finds_what_was_put_in(self):
        files = [Attachment("a.sh", b"#!/bin/sh\n"), Attachment("b c.dat", bytes(range(256)))]

        body = form("generic", PARAMETERS, files)
        read = submit_in(body.kind, body.data)

        assert "generic" == read.application
        assert PARAMETERS == {name: value for name, value in read.parameters.items() if name != "INPUT_FILE"}
        assert {file.name: file.data for file in files} == read.files

    @pytest.mark.parametrize("data", [b"", b"\r\n", b"--\r\n--x--\r\n", b"\n\n", b"ends in cr\r", b"\0" * 1000])
    def test_a_file_comes_byte_for_byte(self, data):
        body = form("generic", PARAMETERS, [Attachment("x", data)])

        assert data == submit_in(body.kind, body.data).files["x"]

    @given(st.binary(max_size=300))
    def test_whatever_is_in_it(self, data):
        body = form("generic", PARAMETERS, [Attachment("x", data)])

        assert data == submit_in(body.kind, body.data).files["x"]

    def test_a_character_that_xml_cannot_carry_is_no_broken_request(self):
        with pytest.raises(ValueError, match="JOB_NAME"):
            form("generic", {"JOB_NAME": "a\x00b"}, [])

    def test_boundaries_differ_and_stand_in_no_file(self):
        first = form("generic", PARAMETERS, [])
        again = form("generic", PARAMETERS, [Attachment("x", first.data)])

        assert first.kind != again.kind
        assert first.data == submit_in(again.kind, again.data).files["x"]


class TestUpload:
    def test_a_part_of_a_file_goes_into_the_jobs_folder(self):
        body = upload("", Attachment(".x.1", b"\r\n\0"))

        assert ("", {".x.1": b"\r\n\0"}) == upload_in(body.kind, body.data)


def download(*files: tuple[str, bytes], boundary: bytes = b"abc", end: bytes = b"--\r\n") -> bytes:
    parts = [
        b"--" + boundary + b"\r\nContent-Type: x/y\r\nContent-ID: <" + name.encode() + b">\r\n\r\n" + data + b"\r\n"
        for name, data in files
    ]
    return b"".join(parts) + b"--" + boundary + end


class TestDownload:
    @pytest.mark.parametrize(
        "kind", ["multipart/mixed; boundary=abc", 'multipart/mixed; boundary="abc"', "text/plain", ""]
    )
    def test_files_are_found_by_the_type_or_without_it(self, kind):
        body = download(("/job/a", b"one\r\ntwo\r\n"), ("/job/b", b""))

        assert [("/job/a", b"one\r\ntwo\r\n"), ("/job/b", b"")] == files_in(body, kind)

    @given(st.binary(max_size=300))
    def test_whatever_is_in_them(self, data):
        body = download(("a", data), boundary=b"0123456789abcdef-none-of-it")

        assert [("a", data)] == files_in(body, "multipart/mixed; boundary=0123456789abcdef-none-of-it")

    def test_a_blank_line_may_stand_before_the_first(self):
        assert [("a", b"x")] == files_in(b"\r\n" + download(("a", b"x")), "multipart/mixed; boundary=abc")

    @pytest.mark.parametrize("cut", [1, 5, 20, 40])
    def test_one_that_broke_off_is_no_file(self, cut):
        """
        Half a file shown as the whole would be a lie.
        """
        body = download(("a", b"0123456789"), end=b"--")

        with pytest.raises(ValueError, match=r"\w"):
            files_in(body[:-cut], "multipart/mixed; boundary=abc")

    @pytest.mark.parametrize("body", [b"", b"plain words", b"--abc", b"--abc--", b"--abc\r\nno blank line\r\n--abc--"])
    def test_what_is_no_such_thing_is_said_so(self, body):
        with pytest.raises(ValueError, match=r"\w"):
            files_in(body, "")
