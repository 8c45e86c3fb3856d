"""One process at a time drives a home, by a lock that lives and dies with it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest

from bascule.errors import Fenced, Unavailable
from bascule.model import Phase
from bascule.platforms.embedded import open_store
from bascule.platforms.embedded.driving import Driver, DriverLock
from tests.contracts.platform_world import in_phase
from tests.platforms.embedded_world import EmbeddedWorld
from tests.platforms.process import DRIVE, freeze, process
from tests.virtual import FakeClock, VirtualLoop


@pytest.fixture
def lock(tmp_path):
    return DriverLock(tmp_path / "driver.lock")


class TestLock:
    """Held by one, and seen by all."""

    def test_a_new_home_has_no_driver(self, lock):
        assert lock.holder() is None

    def test_only_one_holds_it(self, lock, tmp_path):
        other = DriverLock(tmp_path / "driver.lock")

        assert lock.acquire()
        assert not other.acquire()
        lock.release()
        assert other.acquire()

    def test_who_holds_it_is_told(self, lock, tmp_path):
        lock.acquire()

        driver = DriverLock(tmp_path / "driver.lock").holder()
        assert os.getpid() == driver.pid == lock.holder().pid
        assert driver.command
        assert not driver.is_stopped

    def test_who_held_it_once_is_not_told(self, lock, tmp_path):
        lock.acquire()
        lock.release()

        assert DriverLock(tmp_path / "driver.lock").holder() is None

    def test_a_secret_in_an_argument_is_not_told(self, lock, monkeypatch):
        monkeypatch.setattr(sys, "argv", ["/usr/bin/bascule", "run", "--wrap", "login canary"])
        lock.acquire()

        assert "bascule run" == lock.holder().command

    def test_a_program_that_we_start_does_not_inherit_it(self, lock, tmp_path):
        lock.acquire()
        with subprocess.Popen(["sleep", "60"], close_fds=False) as child:
            lock.forget()  # as when this process is killed

            free = DriverLock(tmp_path / "driver.lock").acquire()

            child.kill()
        assert free

    def test_a_fork_does_not_inherit_it(self, lock, tmp_path):
        """
        The supervisor of `local` is forked off; it must not keep a home driven that nobody drives.
        """
        lock.acquire()
        forked, child_runs = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(child_runs, b"!")
            os.kill(os.getpid(), signal.SIGSTOP)
        os.read(forked, 1)
        lock.forget()  # as when this process is killed

        free = DriverLock(tmp_path / "driver.lock").acquire()

        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(forked)
        os.close(child_runs)
        assert free

    def test_one_that_was_killed_is_not_told(self, lock, tmp_path, monkeypatch):
        """
        Nor is whoever bears its number now.
        """
        lock.acquire()
        content = (tmp_path / "driver.lock").read_text()
        lock.release()
        who = json.loads(content)

        for left in (who | {"pid": 2**22 + 1}, who | {"started": ["1"]}):
            (tmp_path / "driver.lock").write_text(json.dumps(left))
            assert DriverLock(tmp_path / "driver.lock").holder() is None

    def test_one_in_another_container_is_told_while_it_holds_the_lock(self, lock, tmp_path):
        """
        Its process cannot be seen from here; the lock can.
        """
        lock.acquire()
        who = json.loads((tmp_path / "driver.lock").read_text()) | {"pid": 1, "namespace": "pid:[7]"}
        (tmp_path / "driver.lock").write_text(json.dumps(who))

        assert 1 == DriverLock(tmp_path / "driver.lock").holder().pid
        lock.forget()
        assert DriverLock(tmp_path / "driver.lock").holder() is None

    def test_a_content_that_means_nothing_is_still_a_driver(self, lock, tmp_path):
        """
        Whoever has just taken the lock has not written yet who it is.
        """
        lock.acquire()
        (tmp_path / "driver.lock").write_text("")

        assert Driver(0, "unknown") == DriverLock(tmp_path / "driver.lock").holder()


class TestProcesses:
    """Real ones."""

    def test_a_killed_driver_leaves_the_home_free(self, lock, tmp_path):
        with process(tmp_path, DRIVE) as driver:
            assert "drives\n" == driver.stdout.readline()
            assert driver.pid == lock.holder().pid
            assert not lock.acquire()

            driver.kill()
            driver.wait()

            assert lock.holder() is None
            assert lock.acquire()

    def test_a_stopped_driver_is_shown_as_such(self, lock, tmp_path):
        with process(tmp_path, DRIVE) as driver:
            driver.stdout.readline()

            freeze(driver)

            assert lock.holder().is_stopped
            assert "Ctrl-Z" in str(lock.holder())
            assert not lock.acquire()

    def test_whoever_asks_who_drives_keeps_nobody_from_driving(self, lock, tmp_path):
        """
        To ask, one reads; the lock itself is tried only where there is nothing to read.
        """
        lock.acquire()
        lock.release()
        asks = "from bascule.platforms.embedded.driving import DriverLock\nsay('asks')\n"
        asks += "while True: DriverLock(home / 'driver.lock').holder()"
        leads = """
async def main():
    async with open_store(home, clock, settings=Settings(threads=False, synchronous="OFF")) as store:
        for n in range(200):
            say(await store.lead())
            store.resign()

asyncio.run(main())
"""
        with process(tmp_path, asks) as asking:
            asking.stdout.readline()
            with process(tmp_path, leads) as leading:
                assert ["True\n"] * 200 == leading.stdout.readlines()


class TestStore:
    """What a store may do, with the lead and without."""

    loop_factory = VirtualLoop

    async def test_without_the_lead_nothing_is_saved(self, tmp_path):
        async with EmbeddedWorld(tmp_path) as world:
            job = await world.stored()

            for late in (world.front.save(in_phase(job, Phase.QUEUED)), world.front.remove(job)):
                with pytest.raises(Fenced, match="does not drive"):
                    await late

    async def test_the_lead_can_be_given_back_and_taken(self, tmp_path):
        async with EmbeddedWorld(tmp_path) as world:
            job = await world.stored()
            assert not await world.front.lead()

            world.driver.resign()

            assert await world.front.lead()
            await world.front.save(job)
            with pytest.raises(Fenced):
                await world.driver.save(job)

    async def test_the_lead_taken_twice_is_the_same(self, tmp_path):
        async with EmbeddedWorld(tmp_path) as world:
            assert await world.driver.lead()

            await world.driver.save(await world.stored())

    async def test_the_lead_is_taken_once_by_many_who_try(self, tmp_path):
        async with open_store(tmp_path, FakeClock()) as store:
            assert [True] * 3 == await asyncio.gather(*(store.lead() for _ in range(3)))

            await store.save(await store.create(EmbeddedWorld(tmp_path).job("x")))

    async def test_who_asks_to_drive_is_told_who_does(self, tmp_path):
        async with open_store(tmp_path, FakeClock(), drive=True):
            with pytest.raises(Unavailable, match=f"driven by process {os.getpid()}") as caught:
                async with open_store(tmp_path, FakeClock(), drive=True):
                    pass

        assert caught.value.hint

    async def test_a_closed_store_lets_the_lead_go(self, tmp_path):
        async with open_store(tmp_path, FakeClock(), drive=True):
            pass

        async with open_store(tmp_path, FakeClock(), drive=True) as store:
            assert os.getpid() == store.driver().pid
