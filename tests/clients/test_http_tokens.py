"""Whom a client says it is, and that nothing it says gives the token away."""

from __future__ import annotations

import traceback

import msgspec
import pytest

from bascule.errors import Unauthorized, Unavailable, Uncertain
from tests.clients import servers
from tests.clients.servers import Server, answers, sends
from tests.clients.test_http import GET, POST, Jobs, client_of, failure_of


class Fixed:
    """Tokens that a test gives, one after the other."""

    def __init__(self, *tokens):
        self.tokens = list(tokens)
        self.refused = []

    async def token(self, *, refused=""):
        if refused:
            self.refused.append(refused)
            if len(self.tokens) > 1:
                self.tokens.pop(0)
        return self.tokens[0]


class TestTokens:
    async def test_a_request_is_signed(self):
        async with Server(answers()) as server, client_of(server, Fixed("secret-1")) as client:
            await client.ask(GET)

            assert "Bearer secret-1" == server.exchanges[0].header("authorization")

    async def test_a_site_may_want_it_in_another_way(self):
        def sign(token):
            return {"X-SLURM-USER-TOKEN": token}

        async with Server(answers()) as server, client_of(server, Fixed("secret-1"), sign=sign) as client:
            await client.ask(GET)

            assert "secret-1" == server.exchanges[0].header("x-slurm-user-token")
            assert server.exchanges[0].header("authorization") is None

    async def test_a_refused_token_is_renewed_once(self):
        tokens = Fixed("old-secret", "new-secret")

        async with Server(answers(401), answers(200)) as server, client_of(server, tokens) as client:
            assert 200 == (await client.ask(POST)).status

            assert ["Bearer old-secret", "Bearer new-secret"] == [e.header("authorization") for e in server.exchanges]
            assert ["old-secret"] == tokens.refused

    async def test_a_site_may_say_403_to_a_token_that_is_old(self):
        tokens = Fixed("old-secret", "new-secret")
        renews = frozenset({401, 403})

        async with (
            Server(answers(403), answers(200)) as server,
            client_of(server, tokens, renews_on=renews) as client,
        ):
            assert 200 == (await client.ask(POST)).status

            assert ["old-secret"] == tokens.refused

    async def test_two_refusals_are_told(self):
        async with Server(answers(401)) as server, client_of(server, Fixed("secret-1", "secret-2")) as client:
            with pytest.raises(Unauthorized, match=r"did not accept the credentials for the submit of `train` \(401\)"):
                await client.ask(POST)

            assert 2 == len(server.exchanges)

    async def test_the_same_token_is_not_tried_again(self):
        """
        Whoever tries too often is locked out.
        """
        async with Server(answers(401)) as server, client_of(server, Fixed("secret-1")) as client:
            with pytest.raises(Unauthorized):
                await client.ask(POST)

            assert 1 == len(server.exchanges)


class TestSecrecy:
    CANARY = 'canary/4711+"x"'
    ECHOES = {
        "status": answers(500, f"no such user: {CANARY}".encode(), Content_Type="text/plain"),
        "as JSON": answers(503, msgspec.json.encode({"error": f"bad token {CANARY}"})),
        "in an address": answers(502, b"token=canary%2F4711%2B%22x%22"),
        "encoded": answers(429, b"Y2FuYXJ5LzQ3MTErIngi"),
        "refused": answers(401, CANARY.encode()),
        "cut off": answers(500, b'{"error": "' + b"x" * 4070 + CANARY.encode() + b'"}'),
        "broken": sends(b"HTTP/1.1 200 " + CANARY.encode() + b"\r\nbroken " + CANARY.encode() + b"\r\n\r\n"),
        "silence": servers.closes,
    }

    @pytest.mark.parametrize("echo", ECHOES)
    async def test_a_token_is_in_no_error(self, echo, caplog):
        caplog.set_level("DEBUG")
        async with Server(self.ECHOES[echo]) as server, client_of(server, Fixed(self.CANARY)) as client:
            with pytest.raises((Unavailable, Uncertain)) as caught:
                await client.ask(POST)

        told = "".join(traceback.format_exception(caught.value)) + caught.value.hint + caplog.text
        causes = [caught.value, caught.value.__cause__, caught.value.__context__]
        told += "".join(repr(vars(cause)) + repr(cause.args) for cause in causes if cause is not None)
        assert "canary" not in told
        assert "Y2FuYXJ5" not in told

    async def test_an_answer_that_cannot_be_read_is_not_repeated_with_it(self):
        async with Server(answers(200, b'{"jobs": {}}')) as server, client_of(server, Fixed("canary-1")) as client:
            with pytest.raises(Unavailable) as caught:
                (await client.ask(GET)).read(Jobs)

        assert caught.value.__context__ is None or "canary" not in str(vars(caught.value.__context__))

    async def test_what_a_page_says_is_not_repeated(self):
        async with Server(answers(502, b"<html>long</html>", Content_Type="text/html")) as server:
            assert "html" not in (await failure_of(server, GET)).message
