"""A WebSocket is listened to under the rules that hold for every question."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from bascule.clients.addresses import AddressPolicy
from bascule.clients.asking import Request, Site
from bascule.clients.http import HttpClient
from bascule.clients.sockets import LARGEST_FRAME
from bascule.errors import Unauthorized, Unavailable
from tests.clients.servers import Server, keeps_silent

HERE = AddressPolicy(inner=True)
TAIL = Request("GET", "/tail", what="the log")


class Talker:
    """A server that says *pieces* and does then what *last* is."""

    def __init__(self, *pieces, last="close", status=101):
        self.pieces = pieces
        self.last = last
        self.status = status
        self.signed = []

    async def __aenter__(self):
        self._runner = web.ServerRunner(web.Server(self._serve), shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_):
        await self._runner.cleanup()

    async def _serve(self, request):
        self.signed.append(request.headers.get("Authorization"))
        if self.status != 101:
            return web.Response(status=self.status)
        stream = web.WebSocketResponse()
        await stream.prepare(request)
        for piece in self.pieces:
            await (stream.send_str(piece) if isinstance(piece, str) else stream.send_bytes(piece))
        if self.last == "cut":
            request.transport.abort()
        elif self.last == "wait":
            await stream.receive()
        return stream


class Token:
    async def token(self, *, refused=""):
        return "secret-token"


def client_of(url, **site):
    return HttpClient(Site(**{"url": url, "policy": HERE, "answer_within": 2, **site}), Token())


async def test_pieces_come_in_order_and_then_it_is_over():
    async with Talker("one", b"two") as talker, client_of(talker.url) as client:
        stream = await client.open(TAIL)

        assert [b"one", b"two", b""] == [await stream.next(within=2) for _ in range(3)]
        assert stream.is_over
        assert ["Bearer secret-token"] == talker.signed


async def test_nothing_yet_is_not_the_end():
    async with Talker(last="wait") as talker, client_of(talker.url) as client:
        stream = await client.open(TAIL)

        assert b"" == await stream.next(within=0.01)
        assert not stream.is_over
        await stream.aclose()
        assert stream.is_over


async def test_a_line_that_breaks_is_an_end_and_no_error():
    async with Talker("one", last="cut") as talker, client_of(talker.url) as client:
        stream = await client.open(TAIL)
        await stream.next(within=2)

        assert b"" == await stream.next(within=2)
        assert stream.is_over


async def test_a_frame_that_is_too_large_is_not_taken():
    async with Talker("x" * (LARGEST_FRAME + 1)) as talker, client_of(talker.url) as client:
        stream = await client.open(TAIL)

        assert b"" == await stream.next(within=5)
        assert stream.is_over


@pytest.mark.parametrize(
    ("status", "kind"), [(401, Unauthorized), (403, Unauthorized), (404, Unavailable), (200, Unavailable)]
)
async def test_an_answer_instead_of_a_stream_is_told(status, kind):
    async with Talker(status=status) as talker, client_of(talker.url) as client:
        with pytest.raises(kind, match="the log") as caught:
            await client.open(TAIL)

        assert "secret-token" not in f"{caught.value} {caught.value.__cause__}"


async def test_an_address_that_may_not_be_asked_may_not_be_listened_to():
    async with Talker() as talker, client_of(talker.url, policy=AddressPolicy()) as client:
        with pytest.raises(Unavailable, match="may not be connected to"):
            await client.open(TAIL)

        assert [] == talker.signed


async def test_nobody_there_is_unavailable():
    async with client_of("http://127.0.0.1:1") as client:
        with pytest.raises(Unavailable, match="nobody listens"):
            await client.open(TAIL)


async def test_a_silent_server_is_waited_for_only_so_long():
    async with Server(keeps_silent) as server, client_of(server.url, answer_within=0.2) as client:
        with pytest.raises(Unavailable):
            await client.open(TAIL)


async def test_a_client_that_is_closed_leaves_no_stream_open():
    async with Talker(last="wait") as talker, client_of(talker.url) as client:
        stream = await client.open(TAIL)

        await client.aclose()

        assert stream.is_over


async def test_what_nobody_fetches_waits_on_the_other_side():
    """
    A log that is written faster than it is read must not fill our memory.
    """
    async with Talker(*["x" * 100_000] * 400, last="wait") as talker, client_of(talker.url) as client:
        stream = await client.open(TAIL)
        await asyncio.sleep(0.3)

        held = stream._stream._reader._size

        assert held < 2_000_000
