"""Secrets are files that only their owner can read."""

from __future__ import annotations

import pytest

from bascule.errors import Mistake
from bascule.platforms.embedded.secret_files import LARGEST, read_secret

CANARY = "canary-7f3a"


@pytest.fixture
def secrets(tmp_path):
    folder = tmp_path / "secrets"
    (folder / "hpc").mkdir(parents=True)
    return folder


@pytest.fixture
def token(secrets):
    file = secrets / "hpc" / "token"
    file.touch(mode=0o600)
    file.write_text(CANARY)
    return file


def told(secrets, name="hpc", key="token"):
    """Return what is said of a secret that cannot be read; it never holds the secret."""
    with pytest.raises(Mistake) as caught:
        read_secret(secrets, name, key)
    said = f"{caught.value.message} {caught.value.hint}"
    assert caught.value.hint
    assert CANARY not in said
    return said


class TestValue:
    def test_is_the_files_text(self, secrets, token):
        assert CANARY == read_secret(secrets, "hpc", "token")

    @pytest.mark.parametrize(
        ("content", "value"),
        [
            (b"abc\n", "abc"),
            (b"abc\n\n", "abc\n"),
            (b" abc ", " abc "),
            (b"", ""),
            ("é".encode(), "é"),
            (b"a\r\n", "a\r"),
        ],
    )
    def test_loses_one_line_break_at_the_end(self, secrets, token, content, value):
        """
        Editors put one there; everything else is part of the secret.
        """
        token.write_bytes(content)

        assert value == read_secret(secrets, "hpc", "token")


class TestRefusal:
    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644])
    def test_what_others_can_read_or_write(self, secrets, token, mode):
        token.chmod(mode)

        assert f"chmod 600 {token}" in told(secrets)

    @pytest.mark.parametrize(("name", "key"), [("hpc", "none"), ("none", "token"), ("hpc", "token2")])
    def test_what_is_not_there(self, secrets, token, name, key):
        said = told(secrets, name, key)

        assert f"secret `{name}` has no key `{key}`" in said
        assert "umask 077" in said

    @pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../hpc", "/etc", ".hidden", "a\0b", "a\nb", "x" * 254])
    def test_what_leads_elsewhere(self, secrets, token, name):
        """
        A job names a secret; it must not name a file.
        """
        assert "cannot name a secret" in told(secrets, name, "token")
        assert "cannot name a secret" in told(secrets, "hpc", name)

    def test_what_is_no_text(self, secrets, token):
        token.write_bytes(b"\xff\xfe")

        assert "no UTF-8" in told(secrets)

    def test_what_holds_a_nul(self, secrets, token):
        """
        No process can be given it, and whoever tried to start one died of it.
        """
        token.write_bytes(b"a\0b")

        assert "NUL" in told(secrets)

    def test_what_is_far_too_large(self, secrets, token):
        token.write_bytes(b"x" * (LARGEST + 1))

        assert "1 MiB" in told(secrets)

    def test_what_is_a_folder(self, secrets):
        (secrets / "hpc" / "token").mkdir(mode=0o700)

        assert "cannot be read" in told(secrets)
