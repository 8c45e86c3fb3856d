"""What a client says came of a request."""

from __future__ import annotations

import asyncio
import socket
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import msgspec
import pytest

from bascule.clients.addresses import AddressPolicy
from bascule.clients.http import HttpClient, Request, Site
from bascule.errors import Mistake, Unavailable, Uncertain
from tests.clients import servers
from tests.clients.servers import Server, answers, sends
from tests.needs import needs_command

HERE = AddressPolicy(inner=True)
GET = Request("GET", "/jobs")
POST = Request("POST", "/jobs", body=b"{}", what="the submit of `train`")
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"]

needs_openssl = needs_command("openssl")


class Jobs(msgspec.Struct):
    jobs: list[str]


def client_of(server, tokens=None, **site):
    """Return a client for *server*, which is on this machine."""
    return HttpClient(Site(**{"url": server and server.url, "policy": HERE, "answer_within": 5, **site}), tokens)


async def failure_of(server, request, **site):
    """Return the error that *request* ends in."""
    async with client_of(server, **site) as client:
        with pytest.raises((Unavailable, Uncertain)) as caught:
            await client.ask(request)
    return caught.value


class TestAnswers:
    async def test_an_answer_is_returned_whole(self):
        async with (
            Server(answers(200, b'{"jobs": ["a"], "more": 1}', X_Here="yes")) as server,
            client_of(server) as client,
        ):
            answer = await client.ask(GET)

            assert 200 == answer.status
            assert "yes" == answer.headers["x-here"]
            assert Jobs(["a"]) == answer.read(Jobs)

    async def test_the_request_is_sent_as_it_is_given(self):
        async with Server(answers()) as server, client_of(server, url=f"{server.url}/slurm/v1/") as client:
            await client.ask(
                Request("POST", "/job/a%2Fb c", query={"q": "ü&"}, headers={"X-User": "alice"}, body=b"{}")
            )

            [exchange] = server.exchanges
            assert exchange.head.startswith("POST /slurm/v1/job/a%2Fb%20c?q=%C3%BC%26 HTTP/1.1\r\n")
            assert "alice" == exchange.header("x-user")
            assert "application/json" == exchange.header("content-type")

    @pytest.mark.parametrize("status", [201, 304, 400, 403, 404, 409, 422])
    async def test_what_is_an_answer_to_the_question_is_for_the_asker_to_judge(self, status):
        async with Server(answers(status, b"")) as server, client_of(server) as client:
            assert status == (await client.ask(GET)).status

    async def test_an_asker_can_take_what_is_a_failure_to_others(self):
        async with Server(answers(500, b"why")) as server, client_of(server) as client:
            answer = await client.ask(Request("POST", "/jobs", takes=frozenset({500})))

            assert b"why" == answer.body

    @pytest.mark.parametrize("body", [b"{", b"[]", b'{"jobs": 1}', b"\xff", b"[" * 100_000])
    async def test_an_answer_that_cannot_be_read_is_as_none(self, body):
        async with Server(answers(200, body)) as server, client_of(server) as client:
            with pytest.raises(Unavailable, match="what cannot be read"):
                (await client.ask(GET)).read(Jobs)
            with pytest.raises(Uncertain, match="what cannot be read"):
                (await client.ask(POST)).read(Jobs)

    async def test_a_client_that_was_closed_can_be_used_again(self):
        async with Server(answers()) as server, client_of(server) as client:
            await client.ask(GET)
            await client.aclose()

            assert 200 == (await client.ask(GET)).status

    @pytest.mark.parametrize("path", ["/../secret", "/jobs/..", "/./x"])
    async def test_a_path_cannot_lead_elsewhere(self, path):
        async with Server(answers()) as server, client_of(server) as client:
            with pytest.raises(Mistake):
                await client.ask(Request("GET", path))


class TestNothingHappened:
    """
    Before the first byte was sent, nothing can have happened, whatever was asked.
    """

    @pytest.mark.parametrize("request_", [GET, POST])
    async def test_nobody_listens(self, request_):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}"

            async with HttpClient(Site(url, HERE)) as client:
                with pytest.raises(Unavailable, match=r"^nobody listens at `127\.0\.0\.1:\d+`$") as caught:
                    await client.ask(request_)

        assert caught.value.hint

    async def test_a_name_that_nobody_knows(self):
        async with HttpClient(Site("https://nowhere.invalid", HERE)) as client:
            with pytest.raises(Unavailable, match=r"^`nowhere\.invalid:443` cannot be found"):
                await client.ask(POST)

    async def test_no_connection_in_time(self):
        """
        A listener whose queue is full answers no handshake.
        """
        with socket.socket() as full, socket.socket() as first, socket.socket() as second:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            for waiting in (first, second):
                waiting.setblocking(False)
                waiting.connect_ex(full.getsockname())
            url = f"http://127.0.0.1:{full.getsockname()[1]}"

            async with HttpClient(Site(url, HERE, connect_within=0.2)) as client:
                with pytest.raises(Unavailable, match="could not be connected to"):
                    await client.ask(POST)

    @pytest.mark.parametrize("status", [408, 421, 425, 429, 503, 511])
    async def test_the_server_says_so(self, status):
        async with Server(answers(status, b'{"error": "busy"}')) as server:
            error = await failure_of(server, POST)

            assert isinstance(error, Unavailable)
            assert f"the submit of `train` ({status})" in error.message
            assert "busy" in error.message
            assert 1 == len(server.exchanges)

    @needs_openssl
    async def test_an_authority_that_is_not_known(self, certificates):
        async with Server(answers(), tls=serving(certificates)) as server:
            error = await failure_of(server, POST)

            assert isinstance(error, Unavailable)
            assert "is not trusted" in error.message
            assert "tls.ca" in error.hint
            assert [] == server.exchanges

    @needs_openssl
    async def test_a_certificate_of_another_name(self, certificates):
        async with Server(answers(), tls=serving(certificates)) as server:
            error = await failure_of(server, POST, ca=certificates.authority, server_name="other.example.org")

            assert isinstance(error, Unavailable)
            assert "is not trusted" in error.message

    async def test_a_server_without_tls(self):
        async def greet(reader, writer):
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
            await reader.read()
            writer.close()

        async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
            url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            error = await failure_of(None, POST, url=url)

            assert isinstance(error, Unavailable)
            assert "does not speak TLS" in error.message


class TestTls:
    @needs_openssl
    @pytest.mark.parametrize("name", [None, "slurm.example.org"])
    async def test_the_owners_authority_and_name_are_taken(self, certificates, name):
        async with (
            Server(answers(), tls=serving(certificates)) as server,
            client_of(server, ca=certificates.authority, server_name=name) as client,
        ):
            assert 200 == (await client.ask(GET)).status

    def test_an_authority_that_cannot_be_read_is_a_mistake(self):
        with pytest.raises(Mistake, match=r"tls\.ca"):
            HttpClient(Site("https://example.org", ca="no certificate"))


CUT_ANYWHERE = {
    "before": servers.closes,
    "in the headers": sends(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "in the body": sends(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
    "in a piece": sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc"),
    "no HTTP": sends(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "bad length": sends(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}"),
    "bad piece": sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"),
    "two lengths": sends(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}"),
    "long header": sends(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n"),
    "packed": answers(200, b"\x1f\x8b", Content_Encoding="gzip"),
    "silence": servers.keeps_silent,
    "drips": servers.drips,
    "drips headers": servers.drips_headers,
    "never ends": servers.never_ends,
    "1 GiB": servers.promises_a_gigabyte,
    **{f"{status}": answers(status) for status in (500, 502, 504, 507, 302, 307)},
}


def patience(fault):
    """Return how long to wait for an answer: not long where none comes."""
    return 1 if fault in {"silence", "drips", "drips headers"} else 20


class TestItMayHaveHappened:
    """
    After the first byte was sent a change may have been made; what only looks, has looked in vain.
    """

    @pytest.mark.parametrize("fault", CUT_ANYWHERE)
    async def test_a_change_is_uncertain(self, fault):
        async with Server(CUT_ANYWHERE[fault]) as server:
            error = await failure_of(server, POST, answer_within=patience(fault), max_bytes=1_000_000)

            assert isinstance(error, Uncertain)
            assert "the submit of `train`" in error.message
            assert 1 == len(server.exchanges)

    @pytest.mark.parametrize("fault", CUT_ANYWHERE)
    async def test_a_look_is_unavailable(self, fault):
        async with Server(CUT_ANYWHERE[fault]) as server:
            error = await failure_of(server, GET, answer_within=patience(fault), max_bytes=1_000_000)

            assert isinstance(error, Unavailable)
            assert "`GET /jobs`" in error.message
            assert 1 == len(server.exchanges)

    @pytest.mark.parametrize("method", METHODS)
    async def test_nothing_is_asked_twice(self, method):
        async with Server(servers.closes) as server:
            await failure_of(server, Request(method, "/jobs"))

            assert 1 == len(server.exchanges)

    async def test_a_look_may_be_a_change_and_a_change_a_look(self):
        async with Server(answers(500)) as server:
            assert isinstance(await failure_of(server, Request("GET", "/x", changes_things=True)), Uncertain)
            assert isinstance(await failure_of(server, Request("POST", "/x", changes_things=False)), Unavailable)


class TestBounds:
    @pytest.mark.parametrize("endless", [servers.never_ends, servers.promises_a_gigabyte])
    async def test_no_more_is_read_than_is_taken(self, endless):
        async with Server(endless) as server:
            error = await failure_of(server, GET, max_bytes=100_000)

            assert "100,000" in error.message
        assert server.exchanges[0].written < 20_000_000  # what fits into the buffers of the system

    async def test_the_most_that_is_taken_is_taken(self):
        async with Server(answers(200, b"x" * 1000)) as server, client_of(server, max_bytes=1000) as client:
            assert 1000 == len((await client.ask(GET)).body)

    async def test_a_request_may_have_its_own_bounds(self):
        async with Server(answers(200, b"x" * 1000)) as server, client_of(server, max_bytes=10) as client:
            assert 1000 == len((await client.ask(Request("GET", "/", max_bytes=1000))).body)

    async def test_an_answer_that_comes_twice_is_not_that_of_the_next_request(self):
        async def twice(exchange):
            await exchange.write(servers.plain(200, b'"first"'))
            await asyncio.sleep(0.05)
            await exchange.write(servers.plain(200, b'"stale"'))

        async with Server(twice, answers(200, b'"second"')) as server, client_of(server) as client:
            assert b'"first"' == (await client.ask(GET)).body
            await asyncio.sleep(0.1)
            assert b'"second"' == (await client.ask(GET)).body


class TestWhereItGoes:
    async def test_redirects_are_not_followed(self):
        async with Server(answers()) as other, Server(answers(307, Location=other.url)) as server:
            error = await failure_of(server, GET)

            assert "sent `GET /jobs` elsewhere (307)" in error.message
            assert [] == other.exchanges

    async def test_proxies_of_the_environment_are_not_used(self, monkeypatch):
        async with Server(answers()) as proxy, Server(answers()) as server:
            monkeypatch.setenv("http_proxy", proxy.url)
            async with client_of(server) as client:
                await client.ask(GET)

            assert [] == proxy.exchanges

    async def test_cookies_are_not_kept(self):
        async with Server(answers(200, Set_Cookie="a=b")) as server, client_of(server) as client:
            await client.ask(GET)
            await client.ask(GET)

            assert server.exchanges[1].header("cookie") is None

    @pytest.mark.parametrize(
        "host", ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"]
    )
    async def test_this_machine_is_not_reached_unless_allowed(self, host):
        async with Server(answers()) as server:
            url = f"http://{host}:{server.port}"

            error = await failure_of(server, POST, url=url, policy=AddressPolicy())

            assert "may not be connected to" in error.message
            assert "network" in error.hint
            assert [] == server.exchanges

    @pytest.mark.parametrize("host", ["localhost", "127.1"])
    async def test_it_is_reached_where_it_is_allowed(self, host):
        policy = AddressPolicy.of(("127.0.0.0/8",))
        async with (
            Server(answers()) as server,
            client_of(server, url=f"http://{host}:{server.port}", policy=policy) as client,
        ):
            assert 200 == (await client.ask(GET)).status

    async def test_plain_http_stays_on_this_machine(self):
        async with HttpClient(Site("http://192.0.2.1", HERE)) as client:
            with pytest.raises(Unavailable, match="the connection would not be encrypted"):
                await client.ask(GET)

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "example.org",
            "ftp://example.org",
            "http://",
            "https://x:99999",
            "https://1.2.3.4.5",
            "https://[fe80::1%25none]",
        ],
    )
    def test_what_is_no_address_of_an_api_is_a_mistake(self, url):
        with pytest.raises(Mistake):
            HttpClient(Site(url))

    @pytest.mark.parametrize(
        "url", ["https://u:hunter2@x.org", "https://x.org/?token=hunter2", "https://x.org/#hunter2"]
    )
    def test_an_address_holds_no_secrets(self, url):
        with pytest.raises(Mistake) as caught:
            HttpClient(Site(url))

        assert "hunter2" not in str(caught.value)


class TestRetryAfter:
    @pytest.mark.parametrize(("text", "seconds"), [("7", 7), ("1.5", 1.5), ("-5", 0), ("999999", 3600)])
    async def test_the_time_that_is_asked_for_is_passed_on(self, text, seconds):
        async with Server(answers(429, Retry_After=text)) as server:
            assert seconds == (await failure_of(server, POST)).retry_after

    async def test_a_date_is_a_time_too(self):
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)

        async with Server(answers(503, Retry_After=date)) as server:
            assert 30 < (await failure_of(server, POST)).retry_after <= 100

    @pytest.mark.parametrize("text", ["", "soon", "nan", "inf", "Wed, 99 Foo"])
    async def test_what_is_no_time_is_passed_over(self, text):
        async with Server(answers(503, Retry_After=text)) as server:
            assert (await failure_of(server, POST)).retry_after is None


class TestCancelling:
    @pytest.mark.parametrize("behaviour", [servers.keeps_silent, servers.drips, servers.drips_headers])
    async def test_a_cancelled_request_leaves_nothing(self, behaviour):
        async with Server(behaviour, answers()) as server, client_of(server, connections=1) as client:
            before = asyncio.all_tasks()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await client.ask(POST)

            assert 200 == (await client.ask(GET)).status  # the only connection is free again
            await server.deserted()
            assert before >= asyncio.all_tasks()

    async def test_many_cancelled_at_once_leave_nothing(self):
        async with Server(servers.keeps_silent) as server, client_of(server, connections=2) as client:
            many = asyncio.gather(*(client.ask(GET) for _ in range(10)))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(many, 0.2)

            assert 2 == len(server.exchanges)


def serving(certificates):
    """Return the server's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.chain, certificates.key)
    return context
