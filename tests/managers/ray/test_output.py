"""A log is followed as it grows, with few questions, and goes on where it stopped whatever breaks."""

from __future__ import annotations

import asyncio

import pytest

from bascule.errors import Unauthorized, Unavailable
from bascule.managers.ray import output
from bascule.model import Phase

ENOUGH = 1 << 20


async def told(world, handle, length, *, offset=0):
    """Follow the log from *offset* until *length* bytes of it have come."""
    data = b""
    async with asyncio.timeout(20):
        while len(data) < length:
            data += (await world.manager.read(handle, "output", offset + len(data), ENOUGH)).data
    return data


def asked(world):
    return {line: count for line, count in world.server.requests.items() if "/jobs/ID" in line}


class TestFollowing:
    async def test_what_comes_while_one_follows_costs_no_question(self, fake):
        _, handle = await fake.running()
        await fake.write(handle, b"first\n")
        assert b"first\n" == await told(fake, handle, 6)
        assert b"" == (await fake.manager.read(handle, "output", 6, ENOUGH)).data
        before = asked(fake)

        for n in range(20):
            await fake.write(handle, f"{n:03}\n".encode())
        await asyncio.sleep(0.2)
        more = await told(fake, handle, 80, offset=6)

        assert "".join(f"{n:03}\n" for n in range(20)).encode() == more
        assert sum(asked(fake).values()) - sum(before.values()) <= 2

    async def test_a_line_that_was_lost_loses_and_doubles_nothing(self, fake):
        _, handle = await fake.running()
        await fake.write(handle, b"one\n")
        await told(fake, handle, 4)
        await fake.manager.read(handle, "output", 4, ENOUGH)
        await fake.write(handle, b"two\n")

        await asyncio.to_thread(fake.server.cut_tails)
        await fake.write(handle, b"three\n")
        more = await told(fake, handle, 10, offset=4)

        assert b"two\nthree\n" == more
        assert 1 <= len(fake.server.tails)

    async def test_a_proxy_that_lets_no_websocket_through_delays_and_loses_nothing(self, fake):
        fake.server.streams = False
        _, handle = await fake.running()
        await fake.write(handle, b"one\n")
        assert b"one\n" == await told(fake, handle, 4)
        await fake.write(handle, b"two\n")

        assert b"two\n" == await told(fake, handle, 4, offset=4)

    async def test_a_head_that_gave_no_tail_is_not_asked_for_one_again_and_again(self, fake):
        fake.server.streams = False
        _, handle = await fake.running()

        for _ in range(10):
            await fake.manager.read(handle, "output", 0, ENOUGH)

        assert 1 == fake.server.requests["GET /api/jobs/ID/logs/tail"]

    async def test_the_end_is_told_whole_to_whoever_knows_of_it(self, fake):
        """
        Ray looks for news once a second: what a tail does not say yet is no proof that there is nothing.
        """
        _, handle = await fake.running()
        await fake.write(handle, b"one\n")
        await told(fake, handle, 4)
        await fake.manager.read(handle, "output", 4, ENOUGH)
        await fake.write(handle, b"last")
        await fake.finish(handle)
        await fake.becomes(handle, Phase.SUCCEEDED)

        assert b"last" == (await fake.manager.read(handle, "output", 4, ENOUGH)).data
        assert b"" == (await fake.manager.read(handle, "output", 8, ENOUGH)).data

    async def test_a_large_log_is_followed_without_being_read_again(self, fake, monkeypatch):
        monkeypatch.setattr(output, "SMALL", 1000)
        _, handle = await fake.running()
        await fake.write(handle, b"x" * 99 + b"\n" + b"y" * 1900 + b"\n")
        await told(fake, handle, 2001)
        await fake.manager.read(handle, "output", 2001, ENOUGH)
        before = fake.server.requests["GET /api/jobs/ID/logs"]

        await fake.manager.read(handle, "output", 2001, ENOUGH)
        await fake.write(handle, b"more\n")
        await fake.finish(handle)
        more = await told(fake, handle, 5, offset=2001)

        assert b"more\n" == more
        assert fake.server.requests["GET /api/jobs/ID/logs"] - before <= 1

    async def test_a_job_that_waits_is_no_reason_for_a_storm(self, fake):
        """
        Nothing was written before a job began; how it stands is a small question, at a human pace.
        """
        handle = await fake.manager.submit(fake.order())
        before = fake.clock.monotonic()

        for _ in range(10):
            assert b"" == (await fake.manager.read(handle, "output", 0, ENOUGH)).data

        assert fake.clock.monotonic() - before >= 9 * output.RESTS_AT_LEAST
        assert 0 == fake.server.requests["GET /api/jobs/ID/logs"]

    async def test_only_so_many_logs_are_followed_at_once(self, fake, monkeypatch):
        monkeypatch.setattr(output, "MOST_TAILS", 2)
        handles = [(await fake.running())[1] for _ in range(4)]

        for _ in range(3):
            for handle in handles:
                await fake.write(handle, b"x")
        seen = [await told(fake, handle, 3) for handle in handles]

        assert [b"xxx"] * 4 == seen
        assert len(fake.manager._output._courses) <= 2


class TestReading:
    async def test_a_log_is_read_backwards_too(self, fake):
        """
        So do those who want its last lines.
        """
        _, handle = await fake.running()
        await fake.write(handle, b"0123456789")
        size = (await fake.manager.read(handle, "output", 0, 1)).size

        end = await fake.manager.read(handle, "output", 7, 3)

        assert (10, b"789") == (size, end.data)

    async def test_rays_own_lines_are_not_the_jobs(self, fake):
        _, handle = await fake.running()
        log = fake.cluster.jobs[handle.id].log
        head, line = log.split(b"Running")
        fake.cluster.jobs[handle.id].log = head + b"early\nRunning" + line + b"late\n"

        assert b"early\nlate\n" == await told(fake, handle, 11)

    async def test_both_streams_are_one(self, fake):
        _, handle = await fake.running()
        await fake.write(handle, b"x")

        chunk = await fake.manager.read(handle, "error", 0, ENOUGH)

        assert (b"", False) == (chunk.data, chunk.gone)

    async def test_a_log_of_a_job_that_is_gone_is_gone(self, fake):
        _, handle = await fake.running()
        await fake.finish(handle)
        await fake.manager.forget(handle)

        assert (await fake.manager.read(handle, "output", 0, ENOUGH)).gone

    async def test_what_is_no_text_is_told_as_what_ray_cannot_show(self, fake):
        _, handle = await fake.running()
        await fake.write(handle, b"\xff\xfe")

        with pytest.raises(Unavailable, match="can't decode byte"):
            await fake.manager.read(handle, "output", 0, ENOUGH)

    async def test_a_token_that_is_not_accepted_is_told_as_such(self, fake):
        _, handle = await fake.running()
        fake.lock()

        with pytest.raises(Unauthorized):
            await fake.manager.read(handle, "output", 0, ENOUGH)
