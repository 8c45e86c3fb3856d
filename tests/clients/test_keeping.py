"""When a connection is used again, and that nothing of an old answer is ever taken for a new one."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from bascule.clients import keeping
from bascule.clients.http import Request
from bascule.clients.keeping import FirstAnswer
from bascule.errors import Error, Unavailable
from tests.clients import servers
from tests.clients.servers import Server, answers
from tests.clients.test_http import GET, POST, client_of


async def chunked(exchange):
    await exchange.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")


def followed_by(data, *, after=0.0):
    """Answer well, and send *data* behind it: with it, or somewhat later."""

    async def behave(exchange):
        if after:
            await exchange.write(servers.plain(200, b'"first"'))
            await asyncio.sleep(after)
            await exchange.write(data)
        else:
            await exchange.write(servers.plain(200, b'"first"') + data)

    return behave


FIRST = {
    "not found": answers(404),
    "failed": answers(500),
    "elsewhere": answers(302),
    "to be closed": answers(200, Connection="close"),
    "without a length": chunked,
    "a second answer": followed_by(servers.plain(200, b'"stale"')),
    "a header once more": followed_by(b"Connection: close\r\n\r\n"),
    "a byte": followed_by(b"\0"),
}


class TestUsedAgain:
    async def test_after_a_success_that_was_read_to_its_end(self):
        async with Server(answers()) as server, client_of(server) as client:
            for request in [GET, GET, POST, Request("DELETE", "/jobs/1"), POST]:
                await client.ask(request)

            assert 1 == server.connections

    async def test_many_at_once_share_as_many_as_are_allowed(self):
        async with Server(answers()) as server, client_of(server, connections=3) as client:
            await asyncio.gather(*(client.ask(GET) for _ in range(30)))

            assert 3 == server.connections


class TestHabits:
    async def test_no_change_is_asked_on_a_used_connection_of_a_site_that_is_not_known_to_keep_them(self):
        async with Server(answers()) as server, client_of(server) as client:
            await client.ask(POST)
            await client.ask(POST)
            assert 2 == server.connections

            for request in [GET, POST, POST]:
                await client.ask(request)
            assert 2 == server.connections

    async def test_a_site_that_closes_without_a_word_is_not_trusted_again(self):
        async with Server(answers(), servers.closes, answers()) as server, client_of(server) as client:
            await client.ask(GET)
            with pytest.raises(Unavailable):
                await client.ask(GET)
            for _ in range(3):
                await client.ask(POST)

            assert 4 == server.connections


class TestNotUsedAgain:
    @pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
    async def test_where_anything_else_came(self, first):
        async with Server(first, answers(200, b'"second"')) as server, client_of(server) as client:
            with suppress(Error):
                await client.ask(GET)
            assert b'"second"' == (await client.ask(GET)).body

            assert 2 == server.connections

    async def test_after_an_answer_without_a_body(self):
        async with Server(answers(200, b""), answers()) as server, client_of(server) as client:
            await client.ask(Request("HEAD", "/"))
            await client.ask(GET)

            assert 2 >= server.connections

    async def test_where_something_comes_while_it_rests(self):
        late = followed_by(servers.plain(200, b'"stale"'), after=0.05)
        async with Server(late, answers(200, b'"second"')) as server, client_of(server) as client:
            assert b'"first"' == (await client.ask(GET)).body
            await asyncio.sleep(0.1)
            assert b'"second"' == (await client.ask(GET)).body

            assert 2 == server.connections

    async def test_where_something_lies_unread(self):
        """
        The event loop was busy: what came is in the socket, and nobody has looked.
        """
        late = followed_by(servers.plain(200, b'"stale"'), after=0.01)
        async with Server(late, answers(200, b'"second"')) as server, client_of(server) as client:
            await client.ask(GET)
            (connections,) = client._session.connector._conns.values()
            connections[0][0].transport.pause_reading()
            await asyncio.sleep(0.05)

            assert b'"second"' == (await client.ask(GET)).body
            assert 2 == server.connections

    async def test_where_the_server_has_left_meanwhile(self):
        """
        A change that met a closed connection would be in doubt, for nothing.
        """

        async def leaves(exchange):
            await exchange.write(servers.plain())

        servers.CLOSES.add(leaves)
        async with Server(leaves, answers()) as server, client_of(server) as client:
            client._habits.keeps = True
            await client.ask(GET)
            await asyncio.sleep(0.05)
            await client.ask(POST)

            assert 2 == server.connections

    async def test_after_a_rest(self, monkeypatch):
        monkeypatch.setattr("bascule.clients.http.RESTS", 0.05)
        async with Server(answers()) as server, client_of(server) as client:
            await client.ask(GET)
            await asyncio.sleep(0.2)
            await client.ask(GET)

            assert 2 == server.connections

    async def test_for_ever(self, monkeypatch):
        """
        The address is looked at anew after a while.
        """
        monkeypatch.setattr(keeping, "LIVES", 0.0)
        async with Server(answers()) as server, client_of(server) as client:
            await client.ask(GET)
            await client.ask(GET)

            assert 2 == server.connections


class TestFirstAnswer:
    """slurmrestd 26.05 writes a second answer behind one that is an error."""

    @pytest.mark.parametrize("size", [1, 7, 1000])
    def test_what_follows_the_first_is_dropped_however_it_is_cut(self, size):
        first = b"HTTP/1.1 404 NOT FOUND\r\nConnection: Close\r\nContent-Length: 5\r\n\r\nhello"
        whole = first + b"HTTP/1.1 404 NOT FOUND\r\nContent-Length: 2\r\n\r\nno"
        answer = FirstAnswer()

        taken = b"".join(answer.part_of(whole[start : start + size]) for start in range(0, len(whole), size))

        assert first == taken
        assert answer.is_followed

    def test_an_answer_without_a_length_is_handed_on(self):
        answer = FirstAnswer()

        pieces = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n", b"ok\r\n0\r\n\r\n")

        assert b"".join(pieces) == b"".join(map(answer.part_of, pieces))
        assert not answer.leaves_nothing
