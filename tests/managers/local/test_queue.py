"""Who is next: first come, first served, and the held stand aside."""

from msgspec.structs import replace

from bascule.managers.local.queue import Queue, Waiting
from bascule.managers.local.records import Capacity, Outline, State


def waiting(key, *, cpus=1, at=0.0, held=False):
    outline = Outline(key=key, name=key, at=at, need=Capacity(cpus=cpus), workdir="", output="", error="")
    return Waiting(outline, State("queued", at, users=held))


def queue_of(*jobs, cpus=4):
    queue = Queue()
    queue.capacity = Capacity(cpus=cpus)
    for job in jobs:
        queue.add(job)
    return queue


def key_of_next(queue, *taken):
    head, why = queue.next([Capacity(cpus=cpus) for cpus in taken])
    return head and head.outline.key, why


def test_the_first_is_next():
    assert ("a", "") == key_of_next(queue_of(waiting("a"), waiting("b")))


def test_a_small_job_does_not_overtake_a_big_one():
    queue = queue_of(waiting("big", cpus=4), waiting("small", cpus=1))

    assert ("big", "waits for 4 cpus (2 free)") == key_of_next(queue, 2)


def test_a_held_job_keeps_nobody_waiting():
    assert ("b", "") == key_of_next(queue_of(waiting("a", held=True), waiting("b")))


def test_a_job_that_can_never_fit_keeps_nobody_waiting():
    assert ("b", "") == key_of_next(queue_of(waiting("a", cpus=5), waiting("b")))


def test_more_capacity_brings_everybody_back_in_their_order():
    queue = queue_of(waiting("a", cpus=5, at=1.0), waiting("b", at=2.0))

    queue.capacity = Capacity(cpus=5)

    assert ("a", "") == key_of_next(queue)


def test_a_job_that_is_let_go_joins_the_line():
    held = waiting("a", held=True)
    queue = queue_of(held)

    queue.add(Waiting(held.outline, replace(held.state, users=False)))

    assert ("a", "") == key_of_next(queue)
    assert 1 == len(queue)


def test_a_start_that_was_delayed_stays_first():
    queue = queue_of(waiting("b"))

    queue.add(waiting("a"), first=True)

    assert ("a", "") == key_of_next(queue)


def test_who_is_removed_is_gone():
    queue = queue_of(waiting("a"), waiting("b", held=True))

    queue.remove("a")
    queue.remove("b")

    assert 0 == len(queue)
    assert "a" not in queue
    assert (None, "") == key_of_next(queue)
