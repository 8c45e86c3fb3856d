"""Indices of arrays, read and written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.model import indices_of, text_of_indices


@pytest.mark.parametrize(
    ("text", "indices"), [("0-3", (0, 1, 2, 3)), ("1,3,5-9:2", (1, 3, 5, 7, 9)), ("7", (7,)), ("5,0-1", (0, 1, 5))]
)
def test_they_are_read(text, indices):
    assert indices == indices_of(text)


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([], ""),
        ([0, 1, 2, 5, 7, 8], "0-2,5,7-8"),
        ([3], "3"),
        ([1, 0], "0-1"),
        ([1, 3, 5], "1,3,5"),
        (range(10, 95, 20), "10-90:20"),
        ([0, 2, 4, 6, 8, 9, 10], "0-8:2,9-10"),
    ],
)
def test_they_are_written(indices, text):
    assert text == text_of_indices(indices)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_what_is_written_is_read_the_same(indices):
    assert tuple(sorted(indices)) == indices_of(text_of_indices(indices))
