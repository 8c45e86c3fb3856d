"""Ray's own two lines are taken out of a log, the same way however it comes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.managers.ray.own_lines import OwnLines

FIRST = b"2026-11-30 15:54:18,448\tINFO job_manager.py:581 -- Runtime env is setting up.\n"
ENTRYPOINT = "exec sh -c 'Running'"
SECOND = f"Running entrypoint for job j-1: {ENTRYPOINT}\n".encode()

text = st.one_of(st.binary(max_size=40), st.sampled_from([b"Running entrypoint for job j", b"R", b"Running", b"\n"]))


@given(before=text, after=text, cuts=st.lists(st.integers(0, 300), max_size=6))
def test_a_log_in_pieces_is_the_log_in_one(before, after, cuts):
    """
    Wherever the second line stands, and wherever the log is cut, what is left is what the job wrote.
    """
    whole = FIRST + before + SECOND + after
    lines = OwnLines("j-1", ENTRYPOINT)
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]

    told = b"".join(lines.without(whole[start:end]) for start, end in pairwise(edges))

    assert before + after == told


@given(written=text, length=st.integers(0, 300))
def test_what_was_told_stands(written, length):
    """
    A shorter reading is the beginning of every longer one: a position means the same byte for ever.
    """
    whole = FIRST + SECOND + written

    shorter = OwnLines("j-1", ENTRYPOINT).without(whole[:length])

    assert OwnLines("j-1", ENTRYPOINT).without(whole).startswith(shorter)


@pytest.mark.parametrize("log", [b"", b"R", b"boom\nRunning entry", b"no line of Ray's\n", FIRST])
def test_a_log_that_never_had_them_is_told_whole_at_its_end(log):
    lines = OwnLines("j-1", ENTRYPOINT)

    told = lines.without(log) + lines.without(b"", is_last=True)

    assert log.removeprefix(FIRST) == told


def test_a_job_that_repeats_rays_line_is_left_its_own():
    lines = OwnLines("j-1", ENTRYPOINT)

    assert b"a\n" + SECOND == lines.without(FIRST + SECOND + b"a\n" + SECOND)


def test_line_ends_of_an_entrypoint_are_those_that_ray_reads():
    lines = OwnLines("j-1", "echo a\r\necho b\r")

    assert b"ab" == lines.without(FIRST + b"Running entrypoint for job j-1: echo a\necho b\nab")
