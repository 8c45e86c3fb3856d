"""
Asking the API server: one connection pool, few verbs, bounded in time and size.

A write that is answered by silence may have happened. Here that is no danger: every
write names the version it is based on, so that the next look tells what became of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import NamedTuple, Self

import aiohttp
import msgspec
from yarl import URL

from bascule.clients.kube.access import Access
from bascule.clients.kube.faults import error_of
from bascule.clients.kube.identity import Credential, Identity
from bascule.clients.kube.sessions import Sessions
from bascule.errors import Error, Unauthorized, Unavailable, Uncertain

JSON = "application/json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
LARGEST_ANSWER = 64 * 1024 * 1024
ANSWER_WITHIN = 30.0
CONNECT_WITHIN = 10.0
_READS = frozenset({"GET", "HEAD"})


class TooLarge(Unavailable):
    """The answer is larger than what is taken; ask for less of it."""


class _Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str] | None
    body: bytes | None
    kind: str
    accept: str


class KubeClient:
    """Asks one API server; ``async with`` closes it."""

    def __init__(self, access: Access, *, answer_within: float = ANSWER_WITHIN) -> None:
        self.access = access
        self._within = answer_within
        self._identity = Identity(access)
        self._sessions = Sessions(access.ca)

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close connections; a client that is closed can be used again."""
        await self._sessions.aclose()

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = JSON) -> bytes:
        """Read what stands at *path*."""
        return await self.send("GET", path, query=query, accept=accept)

    async def post(self, path: str, document: object) -> bytes:
        """Create an object in the collection at *path*."""
        return await self.send("POST", path, document)

    async def put(self, path: str, document: object, *, within: float | None = None) -> bytes:
        """Replace the object at *path*."""
        return await self.send("PUT", path, document, within=within)

    async def patch(
        self, path: str, document: object, *, kind: str = MERGE, query: Mapping[str, str] | None = None
    ) -> bytes:
        """Change the object at *path*."""
        return await self.send("PATCH", path, document, query=query, kind=kind)

    async def delete(self, path: str, options: object = None) -> bytes:
        """Ask for the end of the object at *path*."""
        return await self.send("DELETE", path, options)

    async def send(
        self,
        method: str,
        path: str,
        document: object = None,
        *,
        query: Mapping[str, str] | None = None,
        kind: str = JSON,
        accept: str = JSON,
        within: float | None = None,
    ) -> bytes:
        """
        Ask once, and once more where a fresh token is to be had after a 401; return the body.

        An answer has *within* seconds, by default this client's; after a silence new connections
        are used. Raises `Rejected`, `Unauthorized`, `Unavailable`, or `Uncertain` for what may
        have changed something.
        """
        body = document if isinstance(document, bytes) else msgspec.json.encode(document) if document else None
        request = _Request(method, path, query, body, kind, accept)
        # Signing in has a time of its own: a program that hangs is not the API server's silence.
        credential = await self._identity.credential()
        try:
            return await self._once(request, credential, within or self._within)
        except Unauthorized:
            renewed = await self._identity.credential(refused=credential)
            if renewed == credential:
                raise
        return await self._once(request, renewed, within or self._within)

    async def _once(self, request: _Request, credential: Credential, within: float) -> bytes:
        changes = request.method not in _READS
        what = f"`{request.method} {request.path}`"
        began = time.monotonic()
        try:
            async with asyncio.timeout(within), self._asked(request, credential) as reply:
                data = await _body(reply, what)
                if reply.status >= 300:
                    raise self._refusal(what, reply, data, changes=changes)
                return data
        except TimeoutError as error:
            await self._sessions.distrust(began)
            raise _silence(changes=changes)(f"the API server gave no answer to {what} in {within:.3g} s") from error
        except aiohttp.ClientConnectorError as error:
            raise _unreachable(
                self.access.server, error
            ) from None  # the error itself holds the request, and so the token
        except (aiohttp.ClientError, OSError) as error:
            words = f"the connection to the API server broke at {what}: {type(error).__name__}"
            raise _silence(changes=changes)(words) from None

    async def watch(self, path: str, query: Mapping[str, str], *, accept: str, idle: float) -> AsyncIterator[bytes]:
        """
        Give the lines of a watch, until the server ends it.

        Raises `Unavailable` where nothing came for *idle* seconds: whoever asks for
        bookmarks hears something each minute.
        """
        what = f"`WATCH {path}`"
        request = _Request("GET", path, {**query, "watch": "1"}, None, JSON, accept)
        credential = await self._identity.credential()
        renewed = None
        try:
            async with self._asked(request, credential, idle=idle) as reply:
                if reply.status == 401:
                    renewed = await self._identity.credential(refused=credential)
                if renewed is None or renewed == credential:
                    async for line in self._watched(reply, what):
                        yield line
                    return
            async with self._asked(request, renewed, idle=idle) as reply:
                async for line in self._watched(reply, what):
                    yield line
        except aiohttp.ClientConnectorError as error:
            raise _unreachable(self.access.server, error) from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Unavailable(f"the connection to the API server broke at {what}: {type(error).__name__}") from None

    async def _watched(self, reply: aiohttp.ClientResponse, what: str) -> AsyncIterator[bytes]:
        if reply.status >= 300:
            raise self._refusal(what, reply, await _body(reply, what), changes=False)
        async for line in _lines(reply, what):
            yield line

    @asynccontextmanager
    async def _asked(
        self, request: _Request, credential: Credential, *, idle: float | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        # aiohttp would quote what is quoted already, and a watch has no end in time.
        url = URL(f"{self.access.server}{request.path}", encoded=True)
        headers = {"Accept": request.accept}
        if credential.token:
            headers["Authorization"] = f"Bearer {credential.token}"
        if request.body is not None:
            headers["Content-Type"] = request.kind
        async with (
            self._sessions.lent(credential) as lent,
            lent.session.request(
                request.method,
                url.update_query(request.query) if request.query else url,
                data=request.body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_WITHIN, sock_read=idle),
                allow_redirects=False,
                server_hostname=self.access.server_name,
            ) as reply,
        ):
            if idle is None:
                yield reply
                return
            lent.streams.add(reply)
            try:
                yield reply
            finally:
                lent.streams.discard(reply)

    def _refusal(self, what: str, reply: aiohttp.ClientResponse, data: bytes, *, changes: bool) -> Error:
        error = error_of(what, reply.status, data, reply.headers.get("Retry-After", ""), changes=changes)
        if isinstance(error, Unauthorized):
            error.hint = self._identity.remedy
        return error


def _unreachable(server: str, error: aiohttp.ClientConnectorError) -> Unavailable:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = getattr(error.certificate_error, "verify_message", "") or "it cannot be verified"
        return Unavailable(
            f"the certificate of the API server at {server} is not accepted: {why}",
            hint="see `certificate-authority` and `tls-server-name` in the kubeconfig",
        )
    return Unavailable(
        f"the API server at {server} cannot be reached: {error.os_error.strerror or error.os_error}",
        hint="is it up? `kubectl version` asks it too",
    )


def _silence(*, changes: bool) -> type[Uncertain | Unavailable]:
    return Uncertain if changes else Unavailable


async def _body(reply: aiohttp.ClientResponse, what: str) -> bytes:
    pieces, size = [], 0
    async for piece in reply.content.iter_any():
        size += len(piece)
        if size > LARGEST_ANSWER:
            raise TooLarge(f"the API server answered {what} with more than {LARGEST_ANSWER >> 20} MiB")
        pieces.append(piece)
    return b"".join(pieces)


async def _lines(reply: aiohttp.ClientResponse, what: str) -> AsyncIterator[bytes]:
    """Cut a stream into lines, of which one may be as large as an object."""
    begun: list[bytes] = []
    size = 0
    async for piece in reply.content.iter_any():
        *ended, rest = piece.split(b"\n")
        for line in ended:
            whole = b"".join((*begun, line)) if begun else line
            begun, size = [], 0
            if whole:
                yield whole
        if rest:
            begun.append(rest)
            size += len(rest)
            if size > LARGEST_ANSWER:
                raise TooLarge(f"the API server answered {what} with a line of more than {LARGEST_ANSWER >> 20} MiB")
