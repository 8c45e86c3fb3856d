"""The contract of managers: output, forget, probe."""

from __future__ import annotations

from bascule.errors import Mistake, Refused
from bascule.model import Phase
from tests.contracts.owed import owed_if

ENOUGH = 1 << 16


class Output:
    """What a job prints comes back as it was, from any place on."""

    @owed_if("output", "world.write")
    async def test_output_is_read_byte_for_byte(self, world):
        """
        No decoding, no line ends changed, no byte lost.
        """
        _, handle = await world.running()
        await world.write(handle, world.odd)

        chunk = await world.manager.read(handle, "output", 0, ENOUGH)

        assert (world.odd, 0, len(world.odd)) == (chunk.data, chunk.offset, chunk.size)
        assert not chunk.gone

    @owed_if("output", "world.write")
    async def test_reading_goes_on_where_it_stopped(self, world):
        _, handle = await world.running()
        await world.write(handle, b"first")
        first = await world.manager.read(handle, "output", 0, ENOUGH)
        await world.write(handle, b"second")

        second = await world.manager.read(handle, "output", len(first.data), ENOUGH)

        assert (b"second", 5) == (second.data, second.offset)

    @owed_if("output", "world.write")
    async def test_a_read_gives_no_more_than_was_asked_for(self, world):
        """
        A gigabyte of output must not become a gigabyte of memory.
        """
        _, handle = await world.running()
        await world.write(handle, b"0123456789")

        chunk = await world.manager.read(handle, "output", 2, 3)

        assert (b"234", 2) == (chunk.data, chunk.offset)

    @owed_if("output", "world.write")
    async def test_beyond_the_end_there_is_nothing_yet(self, world):
        _, handle = await world.running()
        await world.write(handle, b"12345")

        chunk = await world.manager.read(handle, "output", 5, ENOUGH)

        assert b"" == chunk.data
        assert not chunk.gone

    @owed_if("output")
    async def test_a_job_that_has_printed_nothing_has_an_empty_output(self, world):
        _, handle = await world.running()

        chunk = await world.manager.read(handle, "output", 0, ENOUGH)

        assert b"" == chunk.data

    @owed_if("output", "world.write")
    async def test_output_is_read_after_the_end(self, world):
        _, handle = await world.running()
        await world.write(handle, b"done")
        await world.finish(handle)
        await world.becomes(handle, Phase.SUCCEEDED)

        chunk = await world.manager.read(handle, "output", 0, ENOUGH)

        assert b"done" == chunk.data

    @owed_if("!output")
    async def test_who_cannot_read_output_says_so(self, world):
        _, handle = await world.running()

        try:
            chunk = await world.manager.read(handle, "output", 0, ENOUGH)
        except (Mistake, Refused):
            return

        assert chunk.gone

    async def test_forgetting_what_is_over_may_be_repeated(self, world):
        """
        A clean-up that was cut is made again, and then finds nothing to do.
        """
        _, handle, _ = await world.over()

        await world.manager.forget(handle)
        await world.manager.forget(handle)

    async def test_a_probe_tells_what_was_tried(self, world):
        health = await world.manager.probe()

        assert (health.reachable, health.authenticated, health.compatible) == (True, True, True)
        assert health.version
        assert health.checks
        assert all(check.ok for check in health.checks)

    @owed_if("world.refuse")
    async def test_a_probe_of_a_silent_manager_says_so_and_raises_nothing(self, world):
        world.refuse("probe")

        health = await world.manager.probe()

        assert not health.reachable
        assert health.message
        assert not health.checks[-1].ok

    @owed_if("world.lock")
    async def test_a_probe_tells_a_bad_credential_from_a_silence(self, world):
        world.lock()

        health = await world.manager.probe()

        assert health.reachable
        assert not health.authenticated
        assert health.hint

    async def test_closing_twice_is_as_good_as_once(self, world):
        await world.manager.aclose()

        await world.manager.aclose()
