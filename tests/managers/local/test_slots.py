"""What is free and what is lacking, in numbers and words."""

import pytest

from bascule.managers.local import slots
from bascule.managers.local.records import Capacity

GIB = 1 << 30
ALL = Capacity(cpus=4, memory=8 * GIB, gpus=2)


def test_what_is_taken_is_not_free():
    room = slots.free(ALL, [Capacity(cpus=1, memory=GIB), Capacity(cpus=2, gpus=1)])

    assert Capacity(cpus=1, memory=7 * GIB, gpus=1) == room


@pytest.mark.parametrize(
    ("need", "lacks"),
    [
        (Capacity(cpus=4, memory=8 * GIB, gpus=2), []),
        (Capacity(cpus=5), ["5 cpus (4 free)"]),
        (Capacity(cpus=1, memory=9 * GIB), ["9Gi of memory (8Gi free)"]),
        (Capacity(cpus=1, gpus=3), ["3 gpus (2 free)"]),
        (Capacity(cpus=6, gpus=3), ["6 cpus (4 free)", "3 gpus (2 free)"]),
    ],
)
def test_what_is_lacking_is_said_with_numbers(need, lacks):
    assert lacks == slots.lacking(need, ALL)


def test_an_overused_resource_keeps_only_those_who_want_it():
    """
    The owner made the target smaller while jobs ran.
    """
    room = slots.free(ALL, [Capacity(gpus=5)])

    assert [] == slots.lacking(Capacity(cpus=1), room)
    assert ["1 gpu (0 free)"] == slots.lacking(Capacity(cpus=1, gpus=1), room)


def test_what_can_never_be_had_is_said_at_once():
    assert "" == slots.exceeds(ALL, ALL)
    assert "5 cpus (there are 4) and 3 gpus (there are 2)" == slots.exceeds(Capacity(cpus=5, gpus=3), ALL)


def test_gpus_are_picked_from_the_free_ones():
    assert (0, 2) == slots.pick(2, 4, taken=[1])


@pytest.mark.parametrize(
    ("size", "text"), [(100, "100 bytes"), (2048, "2Ki"), (1 << 20, "1Mi"), (3 << 29, "1.5Gi"), (GIB, "1Gi")]
)
def test_bytes_are_written_as_people_do(size, text):
    assert text == slots.amount(size)
