"""
Asking over HTTP: one try, bounded in time and size, and a true word about what came of it.

No retries, no redirects, no cookies, no proxies from the environment. When a connection
may be used twice is in ``keeping``, what a failure means in ``faults``.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from types import SimpleNamespace
from typing import Any, Self
from weakref import WeakSet

import aiohttp
from yarl import URL

from bascule.clients import addresses, faults
from bascule.clients.addresses import CheckedResolver
from bascule.clients.asking import Answer, Request, Site
from bascule.clients.credentials import Tokens
from bascule.clients.faults import BadAnswer, Passage, TooLarge
from bascule.clients.keeping import CHANGES, RESTS, Habits, KeptConnection
from bascule.clients.pace import Pace, Respite
from bascule.clients.secrecy import Secrets
from bascule.clients.sockets import LARGEST_FRAME, Socket
from bascule.errors import Error, Mistake, Unavailable

__all__ = ["Answer", "HttpClient", "Request", "Site"]


class HttpClient:
    """Asks one site, as its owner allows; ``async with`` closes it."""

    def __init__(self, site: Site, tokens: Tokens | None = None) -> None:
        self._site = site
        self._tokens = tokens
        self._url = _base(site.url)
        self._who = f"`{self._url.host}:{self._url.port}`"
        self._literal = addresses.numeric(self._url.host or "")
        if self._literal:
            self._url = self._url.with_host(self._literal)
        self._is_checked = not self._literal  # aiohttp asks the resolver for names only
        self._loopback_only = self._url.scheme == "http" and not site.plaintext
        self._tls = _context(site.ca) if self._url.scheme == "https" else None
        self._pace = Pace(site.requests_per_second, site.pace)
        self._respite = Respite()
        self._places = asyncio.Semaphore(site.connections)
        self._secrets = Secrets()
        self._habits = Habits()
        self._session: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None
        self._sockets = WeakSet[Socket]()

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close connections; a client that is closed can be used again."""
        for socket in list(self._sockets):
            await socket.aclose()
        sessions = (self._session, self._streams)
        self._session = self._streams = None
        for session in sessions:
            if session is not None:
                await session.close()

    def hide(self, secret: str) -> None:
        """Take *secret*, which a request carries elsewhere than in its signature, out of whatever is said."""
        self._secrets.add(secret)

    async def ask(self, request: Request) -> Answer:
        """
        Ask once, and once more where a fresh token is to be had after a 401 (`Site.renews_on`).

        Raises `Unavailable`, `Unauthorized` or `Uncertain`; every other status is an answer. One who asked to be
        left alone for a while is not asked meanwhile: `Unavailable`.
        """
        token = await self._token()
        answer = await self._send(request, token)
        if answer.status in self._site.renews_on and self._tokens is not None:
            renewed = await self._token(refused=token)
            if renewed != token:
                answer = await self._send(request, renewed)
        if error := faults.from_status(answer.passage, answer):
            if isinstance(error, Unavailable) and error.retry_after is not None:
                self.leave_alone(error.retry_after)
            raise error
        return answer

    def leave_alone(self, seconds: float) -> None:
        """Ask nothing for so long: the other side wants it so."""
        self._respite.begin(seconds)

    async def open(self, request: Request) -> Socket:
        """Open a WebSocket at *request*'s path; raise `Unavailable` or `Unauthorized` where that is not to be had."""
        token = await self._token()
        passage = Passage(self._who, request, self._secrets, request.within or self._site.answer_within)
        headers = {**request.headers, **(self._site.sign(token) if token else {})}
        failure: Error
        await self._pace.turn()
        faults.respect(passage, self._respite.left)
        try:
            async with asyncio.timeout(passage.within):
                self._check_address()
                if self._streams is None:
                    # Apart from the others: a stream stays open, and would keep a question's place.
                    self._streams = self._session_over(aiohttp.TCPConnector(limit=0, **self._guarded()))
                stream = await self._streams.ws_connect(
                    _joined(self._url, request.path),
                    params=request.query or None,
                    headers=headers,
                    ssl=self._tls or True,
                    server_hostname=self._site.server_name if self._tls else None,
                    max_msg_size=LARGEST_FRAME,
                )
                socket = Socket(stream)
                self._sockets.add(socket)
                return socket
        except aiohttp.WSServerHandshakeError as error:
            failure, cause = faults.not_opened(passage, error.status), faults.without_request(error)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            failure, cause = faults.from_exception(passage, error), faults.without_request(error)
        raise failure from cause

    async def _token(self, refused: str = "") -> str:
        if self._tokens is None:
            return ""
        token = await self._tokens.token(refused=refused)
        self._secrets.add(token)
        return token

    async def _send(self, request: Request, token: str) -> Answer:
        within = request.within or self._site.answer_within
        passage = Passage(self._who, request, self._secrets, within)
        headers = {**request.headers, **(self._site.sign(token) if token else {})}
        if request.body is not None:
            headers.setdefault("Content-Type", "application/json")
        CHANGES.set(request.changes)
        try:
            faults.respect(passage, self._respite.left)
            # The wait for one's turn is no part of the other side's time.
            await self._pace.turn()
            async with self._places, asyncio.timeout(within):
                faults.respect(passage, self._respite.left)
                self._check_address()
                async with self._connected().request(
                    request.method,
                    _joined(self._url, request.path),
                    params=request.query or None,
                    headers=headers,
                    data=request.body,
                    allow_redirects=False,
                    trace_request_ctx=passage,
                    ssl=self._tls or True,
                    server_hostname=self._site.server_name if self._tls else None,
                ) as reply:
                    passage.answered = True
                    body = await _body(reply, request.max_bytes or self._site.max_bytes)
                    names = {name.lower(): value for name, value in reply.headers.items()}
                    return Answer(reply.status, names, body, passage)
        except (aiohttp.ClientError, OSError, TimeoutError, BadAnswer) as error:
            failure, cause = faults.from_exception(passage, error), faults.without_request(error)
        # Out here, as the error itself holds the request, and so the token.
        raise failure from cause

    def _check_address(self) -> None:
        if not self._is_checked:
            addresses.check(self._site.policy, self._literal or "", loopback_only=self._loopback_only)
            self._is_checked = True

    def _guarded(self) -> dict[str, Any]:
        resolver = CheckedResolver(self._site.policy, loopback_only=self._loopback_only)
        # Without the cache: an address is looked at anew for each connection.
        return {"use_dns_cache": False, "resolver": resolver}

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(keepalive_timeout=RESTS, limit=self._site.connections, **self._guarded())
            # There is no public way to a protocol of one's own.
            connector._factory = partial(KeptConnection, asyncio.get_running_loop(), self._habits)  # type: ignore[assignment] # noqa: SLF001
            self._session = self._session_over(connector)
            # aiohttp would ask twice, unseen, with PUT and DELETE as with GET.
            self._session._retry_connection = False  # noqa: SLF001
        return self._session

    def _session_over(self, connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            # A small answer could unpack to more than fits into memory.
            auto_decompress=False,
            headers={"Accept-Encoding": "identity", "User-Agent": "bascule"},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._site.connect_within),
            trace_configs=[_trace()],
        )


async def _body(reply: aiohttp.ClientResponse, most: int) -> bytes:
    """Read the body, and no more of it than *most* bytes."""
    if reply.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise BadAnswer("a packed body, which was not asked for")
    if (reply.content_length or 0) > most:
        raise TooLarge(f"{reply.content_length:,} bytes, more than the {most:,} that are taken")
    body = bytearray()
    async for piece in reply.content.iter_any():
        body += piece
        if len(body) > most:
            raise TooLarge(f"more than the {most:,} bytes that are taken")
    return bytes(body)


def _base(text: str) -> URL:
    try:
        url = URL(text)
        host, good = url.host or "", url.scheme in {"http", "https"} and bool(url.port)
    except ValueError:
        url, host, good = URL(), "", False
    looks_numeric = ":" in host or host.replace(".", "").isdigit()
    if not good or not host or (looks_numeric and addresses.numeric(host) is None):
        raise Mistake("the target's `url` is no address of an API", hint="write it as `https://host:port`")
    if url.user is not None or url.password is not None or url.query_string or url.fragment:
        raise Mistake(
            "the target's `url` holds more than a host and a path", hint="put user and token into `credentials`"
        )
    return url


def _joined(base: URL, path: str) -> URL:
    if {".", ".."} & set(path.split("/")):
        raise Mistake(f"`{path}` is no path to ask for", hint="an id cannot be `.` or `..`")
    assert path.startswith("/"), "a path begins with a slash, or it would become a part of the host"  # noqa: S101
    return URL(f"{str(base).rstrip('/')}{path}")


def _context(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=ca)
    except (ssl.SSLError, ValueError) as error:
        raise Mistake(
            "`tls.ca` holds no certificate that can be read", hint="paste the authority's PEM text whole"
        ) from error


def _trace() -> aiohttp.TraceConfig:
    async def sent(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
        if context.trace_request_ctx is not None:  # a WebSocket has none: it asks for nothing that could be in doubt
            context.trace_request_ctx.sent = True

    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(sent)
    return trace
