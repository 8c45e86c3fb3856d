from __future__ import annotations

import pytest

from bascule.clients.secrecy import Secrets


def cleaned(text, *secrets, longest=200):
    kept = Secrets()
    for secret in secrets:
        kept.add(secret)
    return kept.clean(text, longest)


def test_a_text_without_secrets_stays():
    assert "no such partition" == cleaned("no such partition", "secret-1")


@pytest.mark.parametrize(
    "text", ["bad token a/b+c=d", "bad token a%2Fb%2Bc%3Dd", "bad token YS9iK2M9ZA==", 'bad token "a/b+c=d"']
)
def test_a_secret_is_taken_out_in_every_form(text):
    said = cleaned(text, "a/b+c=d")

    assert said.startswith("bad token")
    assert "a/b" not in said
    assert "b%2B" not in said
    assert "YS9i" not in said


def test_a_longer_secret_is_taken_out_whole():
    assert "***" == cleaned("secret-1-and-more", "secret-1", "secret-1-and-more")


def test_a_secret_that_was_cut_off_is_taken_out():
    assert "bad token ***" == cleaned("bad token secret-4", "secret-4711")


def test_where_a_secret_could_be_part_of_any_word_nothing_is_said():
    assert not cleaned("bad token", "tok")


def test_a_long_text_is_cut_after_the_secrets_are_gone():
    said = cleaned("x" * 190 + "secret-4711-and-more", "secret-4711-and-more", longest=195)

    assert "secret" not in said


def test_the_text_is_one_line():
    assert "a b c" == cleaned("a\n\tb\x1b\r\nc")


def test_the_number_of_secrets_that_are_kept_is_bounded():
    kept = Secrets()
    for number in range(1000):
        kept.add(f"secret-{number:04}")

    assert "***" == kept.clean("secret-0999")
    assert len(kept._forms) <= 64
