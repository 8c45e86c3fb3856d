from __future__ import annotations

import pytest

from bascule.spec import documents
from bascule.spec.documents import read_documents


def read(text):
    """Return the values of the documents in *text*, and what is wrong in it."""
    problems = []
    nodes = read_documents(text, lambda line, words: problems.append((line, words)))
    return [node.plain() for node in nodes], problems


class TestValues:
    @pytest.mark.parametrize(
        ("written", "value"),
        [
            ("text", "text"),
            ("'1'", "1"),
            ("!!str 1", "1"),
            ("1", 1),
            ("-3", -3),
            ("0x1F", 31),
            ("017", 15),
            ("09", 9.0),
            ("1_000", 1000),
            ("1.5", 1.5),
            ("1e5", 100000.0),
            ("yes", True),
            ("off", False),
            ("y", True),
            ("null", None),
            ("2024-01-31", "2024-01-31"),
            ("1:30:00", "1:30:00"),
            ("[a, {b: c}]", ["a", {"b": "c"}]),
        ],
    )
    def test_plain_words_mean_what_they_mean_to_kubernetes(self, written, value):
        assert ([{"key": value}], []) == read(f"key: {written}")

    def test_documents_that_hold_nothing_are_passed_over(self):
        assert ([{"a": 1}, {"b": 2}], []) == read("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n")

    def test_anchors_and_merges_work(self):
        values, problems = read("a: &x {z: 1, q: 1}\nb: {<<: *x, q: 2}\nc: *x\n")

        assert [] == problems
        assert {"z": 1, "q": 2} == values[0]["b"]
        assert {"z": 1, "q": 1} == values[0]["c"]

    def test_a_byte_order_mark_is_passed_over(self):
        assert ([{"a": 1}], []) == read("\ufeffa: 1")


class TestJson:
    def test_json_is_read_as_json(self):
        text = '{\n\t"a": "\\ud83d\\ude00 \\/ \\\\ud83d",\n\t"b":[1,true,null,1e5], "c": "\x7f\u2028\x85"}'

        assert ([{"a": "😀 / \\ud83d", "b": [1, True, None, 100000.0], "c": "\x7f\u2028\x85"}], []) == read(text)

    def test_a_key_given_twice_is_told(self):
        assert [(3, "`a` is given twice, first in line 2")] == read('{\n"a": 1,\n"a": 2}')[1]

    def test_half_a_surrogate_pair_is_refused(self):
        values, problems = read('{"a": "\\ud800"}')

        assert [] == values
        assert 1 == len(problems)


class TestRefusals:
    def test_a_key_given_twice_names_both_lines(self):
        values, problems = read("a: 1\nb: 2\na: 3\n")

        assert [{"a": 1, "b": 2}] == values
        assert [(3, "`a` is given twice, first in line 1")] == problems

    def test_a_key_that_is_no_text_is_told(self):
        assert [(2, 'the key `on` is no text in YAML; quote it: "on"')] == read("a: 1\non: 2\n")[1]

    @pytest.mark.parametrize(
        ("text", "line", "words"),
        [
            ("a:\n\t- b\n", 2, "a tab cannot indent YAML"),
            ("a: 1\nb: c: d\n", 2, "a `:` where no key can be"),
            ("a: 1\nb: 'x\nc: y\n", 2, "a quote is opened and not closed"),
            ("a: @x\n", 1, "a text cannot begin with `@`"),
            ("a:\n  b: 1\n c: 2\n", 3, "not indented as the lines before it"),
            ("a: 1\nb: [1, 2\n", 3, "cannot be read"),
            ("a: *q\n", 1, "`*q` stands for itself, or for nothing"),
            ("a: &q [*q]\n", 1, "`*q` stands for itself, or for nothing"),
            ("a: 1\nb: \x01\n", 2, "U+0001 cannot be in YAML"),
            ("a: .inf\n", 1, "a number that JSON does not have"),
            ("a: 99999999999999999999\n", 1, "is too large"),
            ("a: " + "9" * 5000, 1, "is too large"),
            ("a: !!python/object:os.system x\n", 1, "is not known here"),
            ("a: !!timestamp 2024-01-01\n", 1, "is not known here"),
        ],
    )
    def test_what_cannot_be_read_is_one_line_with_its_place(self, text, line, words):
        [(found, said)] = read(text)[1]

        assert line == found
        assert words in said
        assert "\n" not in said

    def test_depth_is_bounded(self):
        assert "nested deeper than 64 levels" in read("[" * 100 + "]" * 100)[1][0][1]
        assert read("[" * 100_000)[1]

    def test_what_aliases_stand_for_is_bounded(self):
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]

        assert "aliases stand for more than 10,000 values" in read("\n".join(lines))[1][0][1]

    def test_a_long_text_repeated_by_aliases_is_bounded(self):
        text = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 100)}]\n"

        assert "aliases stand for more than 10,000 values" in read(text)[1][0][1]

    def test_the_number_of_values_is_bounded(self, monkeypatch):
        monkeypatch.setattr(documents, "MOST_VALUES", 100)

        assert "more than 100 values" in read("a: [" + "1," * 200 + "]")[1][0][1]


class TestLineEnds:
    def test_a_file_of_crlf_is_read(self):
        assert ([{"a": "x\ny\n"}], []) == read("a: |\r\n  x\r\n  y\r\n")

    @pytest.mark.parametrize("odd", ["\r\n", "\r", "\x85", "\u2028", "\u2029"])
    def test_a_line_end_that_yaml_would_change_is_refused(self, odd):
        """
        Inside a script it would be changed silently.
        """
        values, [(line, words)] = read(f"a: |\n  #!/bin/sh\n  x{odd}  y\n")

        assert [] == values
        assert 3 == line
        assert "which YAML would make the same" in words

    def test_an_escape_keeps_them(self):
        assert ([{"a": "x\r\ny\x85"}], []) == read('a: "x\\r\\ny\\N"\n')
