"""The spool: accepted once, read whole, and mended from what is left."""

import fcntl
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor

from bascule.managers.local.records import Capacity, Order, State
from bascule.managers.local.spool import Spool


def order(key="job-1", **more):
    fields = {"name": "job", "at": 1.0, "need": Capacity(1), "workdir": "/", "output": "/o", "error": "/e"}
    return Order(key=key, program=(b"true",), env={b"SECRET": b"\xff\x00"[:1]}, **{**fields, **more})


def spool_in(folder):
    spool = Spool(folder)
    spool.make()
    return spool


def test_a_key_is_accepted_once(tmp_path):
    spool = spool_in(tmp_path)

    assert spool.accept(order(name="first"))
    assert not spool.accept(order(name="second"))
    assert "first" == spool.outline("job-1").name
    assert [] == list((spool.place / "incoming").iterdir())


def test_an_order_comes_back_as_it_was(tmp_path):
    spool = spool_in(tmp_path)
    given = order(script=b"#!/bin/sh\n\xff\n", warn=("USR1", 5.0), walltime=0.5, ours=True)
    spool.accept(given)

    assert given == spool.order("job-1")


def test_nobody_else_may_look_in(tmp_path):
    spool = spool_in(tmp_path)
    spool.accept(order())

    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (spool.place, *spool.place.rglob("*"))}

    assert [] == [str(path) for path, mode in modes.items() if mode & 0o077]


def test_a_scrubbed_order_can_start_nothing(tmp_path):
    """
    Better not at all than without its environment.
    """
    spool = spool_in(tmp_path)
    spool.accept(order())

    spool.scrub("job-1")
    spool.scrub("job-1")

    assert spool.order("job-1") is None
    assert "job" == spool.outline("job-1").name


def test_one_home_has_one_form_of_its_path(tmp_path):
    """
    Processes are told apart by it.
    """
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to("home")

    assert Spool(tmp_path / "home").place == Spool(tmp_path / "link").place


def test_what_is_torn_is_none(tmp_path):
    spool = spool_in(tmp_path)
    spool.accept(order())
    folder = spool.folder("job-1")
    (folder / "state").write_bytes(b'{"word": "run')
    (folder / "order").write_bytes(b"\x80")
    (spool.place / "capacity").write_bytes(b"")

    assert spool.state("job-1") is None
    assert spool.outline("job-1") is None
    assert spool.order("job-1") is None
    assert spool.capacity() is None


def test_an_intent_tells_more_than_the_state_before_it(tmp_path):
    """
    Killed between the two: it may have been started.
    """
    spool = spool_in(tmp_path)
    spool.accept(order())
    spool.save("job-1", State("queued", 1.0), durable=False)
    intent = State("starting", 1.0, launch=1, boot="b")
    spool.save_intent("job-1", intent)

    assert intent == spool.progress("job-1")


def test_a_torn_intent_never_was(tmp_path):
    """
    Nothing is started before it is synced; unless a wrapper has begun, and the disk lost it since.
    """
    spool = spool_in(tmp_path)
    spool.accept(order())
    queued = State("queued", 1.0)
    spool.save("job-1", queued, durable=False)
    (spool.folder("job-1") / "intent.1").write_bytes(b"")
    never = spool.progress("job-1")

    (spool.folder("job-1") / "begun.1").write_bytes(b"1 2 b .\n")

    assert queued == never
    assert ("starting", 1) == (spool.progress("job-1").word, spool.progress("job-1").launch)


def test_an_end_is_final_whatever_lies_beside_it(tmp_path):
    spool = spool_in(tmp_path)
    spool.accept(order())
    spool.save("job-1", State("over", 1.0, launch=1), durable=True)
    spool.save_intent("job-1", State("starting", 1.0, launch=2))

    assert spool.progress("job-1").is_over


def test_new_orders_are_seen_to_before_other_wishes(tmp_path):
    spool = spool_in(tmp_path)
    spool.wishes.leave("a", "cancel")
    spool.wishes.leave("z", "new")
    spool.wishes.leave("a", "walltime-3.5")

    assert [("z", "new"), ("a", "cancel"), ("a", "walltime-3.5")] == [wish[:2] for wish in spool.wishes.read()]


def test_a_wish_takes_the_place_of_its_opposite(tmp_path):
    spool = spool_in(tmp_path)

    spool.wishes.leave("a", "hold", instead_of="unhold")
    spool.wishes.leave("a", "unhold", instead_of="hold")

    assert ["unhold"] == [wish.what for wish in spool.wishes.read()]


def test_news_has_a_time_of_its_own_each_time(tmp_path):
    """
    The clock of a file system is coarse, and may even be set back.
    """
    spool = spool_in(tmp_path)
    spool.tell()
    future = time.time_ns() + 10**12
    os.utime(spool.news, ns=(future, future))
    times = []
    for _ in range(3):
        spool.tell()
        times.append(spool.news.stat().st_mtime_ns)

    assert future < times[0] < times[1] < times[2]


def test_nobody_can_be_woken_where_nobody_listens(tmp_path):
    spool = spool_in(tmp_path)
    before = spool.wake()
    ear = os.open(spool.place / "wake", os.O_RDWR | os.O_NONBLOCK)
    fcntl.fcntl(ear, fcntl.F_SETPIPE_SZ, 4096)

    woken = [spool.wake() for _ in range(5_000)]
    os.close(ear)

    assert not before
    assert all(woken), "a full pipe wakes as well"
    assert not spool.wake()
    assert not Spool(tmp_path / "elsewhere").wake()


def test_what_killed_submits_have_left_is_cleared_after_a_while(tmp_path):
    spool = spool_in(tmp_path)
    old, new = spool.place / "incoming" / "a.1", spool.place / "incoming" / "b.2"
    old.mkdir()
    new.mkdir()
    os.utime(old, (1, 1))

    spool.clear()

    assert (False, True) == (old.exists(), new.exists())


def test_forgetting_twice_is_as_good_as_once(tmp_path):
    spool = spool_in(tmp_path)
    spool.accept(order())

    spool.forget("job-1")
    spool.forget("job-1")

    assert [] == list(spool.kept())


def test_many_may_say_at_once_how_much_may_be_used(tmp_path):
    """
    Of processes that shared one unfinished file, one renamed it and the next found it gone: its submit failed.
    """
    spool = Spool(tmp_path)
    spool.make()

    def say(number):
        for cpus in range(200):
            spool.save_capacity(Capacity(cpus=1 + (number + cpus) % 7))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(say, range(8)))

    assert spool.capacity() is not None
    assert [] == list(spool.place.glob("capacity.*"))
