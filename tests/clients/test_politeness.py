"""How often a server is really asked, counted there: by one process, by several of one home, and after it said no."""

from __future__ import annotations

import asyncio
import fcntl
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from bascule.clients.http import Request
from bascule.clients.pace import Pace
from bascule.errors import Unavailable
from tests.clients.servers import Server, answers
from tests.clients.test_http import GET, client_of

ASKS = """
import asyncio, sys
from pathlib import Path
from bascule.clients.addresses import AddressPolicy
from bascule.clients.http import HttpClient, Request, Site

async def main():
    site = Site(sys.argv[1], policy=AddressPolicy(inner=True), requests_per_second=20, pace=Path(sys.argv[2]))
    async with HttpClient(site) as client:
        await asyncio.gather(*(client.ask(Request("GET", "/")) for _ in range(20)))

asyncio.run(main())
"""


def timed(times):
    """Answer, and note when one was asked."""
    good = answers()

    async def behave(exchange):
        times.append(time.monotonic())
        await good(exchange)

    return behave


def is_kept(times, *, began, per_second):
    """Tell whether never more had come than a second's worth at once, and so many a second since; a late one is no fault."""
    return all(count <= per_second * (1 + at - began) + 1 for count, at in enumerate(sorted(times), start=1))


async def test_a_limit_is_kept_at_the_server():
    times, began = [], time.monotonic()
    async with Server(timed(times)) as server, client_of(server, requests_per_second=20) as client:
        await asyncio.gather(*(client.ask(GET) for _ in range(50)))

    assert 50 == len(times)
    assert is_kept(times, began=began, per_second=20)


@pytest.mark.slow
async def test_several_processes_share_one_limit(tmp_path):
    times, began = [], time.monotonic()
    async with Server(timed(times)) as server:
        command = [sys.executable, "-c", ASKS, server.url, str(tmp_path / "pace")]
        root = Path(__file__).parents[2]
        settings = {"PYTHONPATH": "src", "PATH": ""}
        processes = [await asyncio.create_subprocess_exec(*command, cwd=root, env=settings) for _ in range(3)]
        codes = [await process.wait() for process in processes]

    assert [0, 0, 0] == codes
    assert 60 == len(times)
    assert is_kept(times, began=began, per_second=20)


async def test_the_wait_for_a_turn_is_no_silence_of_the_server():
    """
    A client that holds itself back must not take that for a target that does not answer.
    """
    async with Server(answers()) as server, client_of(server, requests_per_second=4, answer_within=0.5) as client:
        assert 8 == len(await asyncio.gather(*(client.ask(GET) for _ in range(8))))


async def test_a_server_that_says_no_is_not_asked_again_by_the_client():
    async with Server(answers(429, Retry_After="7")) as server, client_of(server) as client:
        with pytest.raises(Unavailable) as caught:
            await client.ask(Request("POST", "/"))

        assert (1, 7) == (len(server.exchanges), caught.value.retry_after)


@pytest.mark.parametrize("status", [429, 503])
async def test_one_that_asked_to_be_left_alone_is_asked_nothing_until_then(status):
    async with Server(answers(status, Retry_After="1"), answers()) as server, client_of(server) as client:
        for _ in range(3):
            with pytest.raises(Unavailable):
                await client.ask(Request("POST", "/"))
        asked_meanwhile = len(server.exchanges)
        await asyncio.sleep(1.05)
        await client.ask(GET)

    assert 1 == asked_meanwhile
    assert 2 == len(server.exchanges)


async def test_those_who_wait_for_their_turn_hear_of_it_too():
    """
    Of many requests under way only those go out that were sent before the server said no.
    """
    async with Server(answers(503, Retry_After="60")) as server, client_of(server, connections=2) as client:
        outcomes = await asyncio.gather(*(client.ask(GET) for _ in range(20)), return_exceptions=True)

        assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
        assert 2 == len(server.exchanges)


async def test_a_date_is_obeyed_like_seconds():
    date = format_datetime(datetime.now(UTC) + timedelta(minutes=5), usegmt=True)
    async with Server(answers(503, Retry_After=date)) as server, client_of(server) as client:
        for _ in range(3):
            with pytest.raises(Unavailable):
                await client.ask(GET)

        assert 1 == len(server.exchanges)


class TestShared:
    """One row of turns for all who name the same file."""

    async def test_two_who_share_a_file_have_one_limit(self, tmp_path):
        both = [Pace(50, tmp_path / "pace/hpc") for _ in range(2)]
        began = time.monotonic()

        await asyncio.gather(*(pace.turn() for pace in both for _ in range(40)))

        assert 0.58 < time.monotonic() - began  # 50 at once, then 30 more

    async def test_the_row_of_an_earlier_boot_is_not_waited_for(self, tmp_path):
        (tmp_path / "hpc").write_text(f"another-boot {time.monotonic() + 100}")

        async with asyncio.timeout(1):
            await Pace(1, tmp_path / "hpc").turn()

    async def test_a_frozen_process_that_holds_the_file_stops_nobody(self, tmp_path):
        with (tmp_path / "hpc").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)

            async with asyncio.timeout(5):
                await Pace(1, tmp_path / "hpc").turn()

    async def test_where_there_can_be_no_file_each_has_a_row_of_its_own(self, tmp_path):
        (tmp_path / "file").touch()

        async with asyncio.timeout(5):
            await Pace(1, tmp_path / "file/hpc").turn()
