"""The surroundings of whoever submits, kept for whoever hands the job in."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bascule.managers.local.submitters import KEPT, Submitter, Submitters

ONE = Submitter({b"PATH": b"/opt/bin", b"ODD": b"\xff\n"}, 0o027)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "submitters"


@pytest.fixture
def submitters(place):
    return Submitters(place)


def test_they_come_back_as_they_were(submitters):
    assert ONE == submitters.of(submitters.keep(ONE))


def test_the_same_are_kept_once(submitters, place):
    names = {submitters.keep(ONE) for _ in range(3)}

    assert names == {path.name for path in place.iterdir()}


def test_many_may_keep_the_same_at_once(submitters):
    with ThreadPoolExecutor(16) as threads:
        for number in range(50):
            one = Submitter({b"N": b"%d" % number}, 0)
            names = {*threads.map(submitters.keep, [one] * 16)}

            assert [one] == [submitters.of(name) for name in names]


def test_others_cannot_read_them(submitters, place):
    name = submitters.keep(ONE)

    assert 0 == (place.stat().st_mode | (place / name).stat().st_mode) & 0o077


@pytest.mark.parametrize("name", ["", "unknown", "..", "../secret", "a/b"])
def test_a_name_that_is_none_finds_nobody(submitters, place, name):
    place.mkdir()
    (place.parent / "secret").write_bytes(b"x")

    assert submitters.of(name) is None


def test_damaged_ones_are_as_if_not_there(submitters, place):
    name = submitters.keep(ONE)
    (place / name).write_bytes(b"")

    assert submitters.of(name) is None
    assert name == submitters.keep(ONE)
    assert ONE == submitters.of(name)


def test_what_was_not_used_for_long_goes(submitters, place):
    old = submitters.keep(ONE)
    _age(place / old)

    submitters.keep(Submitter({}, 0))

    assert submitters.of(old) is None


def test_what_is_used_stays(submitters, place):
    old = submitters.keep(ONE)
    _age(place / old)
    submitters.of(old)

    submitters.keep(Submitter({}, 0))

    assert ONE == submitters.of(old)


def _age(path):
    then = time.time() - KEPT.total_seconds() - 1
    os.utime(path, (then, then))
