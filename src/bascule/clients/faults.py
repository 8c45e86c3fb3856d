"""
What a failed request means, in words and as one of our errors.

The question is always the same: can it have happened? Before the first byte was sent it
cannot. Afterwards it can, unless the answer itself says that nothing was done.
"""

from __future__ import annotations

import email.utils
import math
import ssl
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aiohttp

from bascule.clients.addresses import AddressRefused
from bascule.clients.secrecy import Secrets
from bascule.errors import Error, Unauthorized, Unavailable, Uncertain

if TYPE_CHECKING:
    from bascule.clients.asking import Answer, Request

LONGEST_PAUSE = 3600.0
_REDIRECTS = frozenset(range(300, 400)) - {304}
# These say that the request was not worked on: see RFC 9110 and 6585.
_NOT_DONE = {
    408: "did not get the whole request in time",
    421: "is not the server for this name",
    425: "did not want to work on the request yet",
    429: "was asked too often",
    503: "is not available",
    511: "cannot be reached: the network wants a sign-in first",
}


class BadAnswer(Exception):
    """The other side answered what no client should take; the text says what."""


class TooLarge(BadAnswer):
    """The answer is larger than what is taken of one."""


class Oversized(Unavailable):
    """A question whose answer is larger than what is taken of one: ask for less."""


@dataclass(slots=True)
class Passage:
    """How far one request came: *sent* from just before its first byte on."""

    who: str
    request: Request
    secrets: Secrets
    within: float
    sent: bool = False
    answered: bool = field(default=False)


def from_status(passage: Passage, answer: Answer) -> Error | None:
    """Return the error that the status of *answer* is; None where it is an answer to the question."""
    status, what = answer.status, _what(passage)
    if status in passage.request.takes or 200 <= status < 300:
        return None
    said = f": {words}" if (words := passage.secrets.clean(_words_in(answer))) else ""
    if status == 401:
        return Unauthorized(f"{passage.who} did not accept the credentials for {what} (401){said}", hint="renew them")
    if why := _NOT_DONE.get(status):
        pause = retry_after(answer.headers.get("retry-after", ""))
        hint = f"it asks to wait for {pause:.0f} s" if pause is not None else ""
        return Unavailable(f"{passage.who} {why}, at {what} ({status}){said}", hint=hint, retry_after=pause)
    if status in _REDIRECTS:
        # A redirect after a change may be how a site says that it was done.
        return _unclear(
            passage,
            f"{passage.who} sent {what} elsewhere ({status}), where we do not follow",
            hint="set the target's `url` to the address where the API really is",
        )
    if status >= 500 or status < 200:
        return _unclear(passage, f"{passage.who} failed at {what} ({status}){said}", hint="see the server's own log")
    return None


def respect(passage: Passage, respite: float) -> None:
    """Raise where the other side asked to be left alone, for *respite* more seconds."""
    if respite > 0:
        # Without the number, which would make news of every try.
        raise Unavailable(
            f"{passage.who} asked to be left alone for a while", hint="it is asked again then", retry_after=respite
        )


def from_exception(passage: Passage, error: Exception) -> Error:
    """Return the error that *error* means."""
    if not passage.sent:
        return _unreached(passage, error)
    what = _what(passage)
    match error:
        case TooLarge() if not passage.request.changes:
            return Oversized(f"{passage.who} answered {what} with {error}", hint="is this the address of the API?")
        case BadAnswer():
            words, hint = f"answered {what} with {error}", "is this the address of the API?"
        case TimeoutError() if passage.answered:
            words, hint = f"did not finish its answer to {what} within {passage.within:g} s", ""
        case TimeoutError():
            words, hint = f"gave no answer to {what} within {passage.within:g} s", ""
        case aiohttp.ServerDisconnectedError():
            words, hint = f"closed the connection before it answered {what}", ""
        case aiohttp.ClientPayloadError():
            words, hint = f"broke off its answer to {what}", ""
        case aiohttp.ClientResponseError():
            words, hint = f"answered {what} with something that is no HTTP", "is this the address of the API?"
        case _:
            words, hint = f"was lost in the middle of {what} ({type(error).__name__})", ""
    return _unclear(passage, f"{passage.who} {words}", hint=hint)


def not_opened(passage: Passage, status: int) -> Unavailable:
    """Return the error for a WebSocket that was answered with *status* instead of being opened."""
    what = _what(passage)
    if status in {401, 403}:
        return Unauthorized(f"{passage.who} did not accept the credentials for {what} ({status})", hint="renew them")
    return Unavailable(
        f"{passage.who} does not stream {what} ({status})", hint="does a proxy on the way let WebSockets through?"
    )


def malformed(passage: Passage, why: str) -> Error:
    """Return the error for an answer that cannot be read."""
    said = passage.secrets.clean(why)
    return _unclear(passage, f"{passage.who} answered {_what(passage)} with what cannot be read: {said}")


def retry_after(text: str) -> float | None:
    """Read the header of that name: seconds, or a date; at most an hour."""
    try:
        pause = float(text)
    except ValueError:
        try:
            pause = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(0.0, pause), LONGEST_PAUSE) if math.isfinite(pause) else None


def without_request(error: BaseException) -> Exception:
    """Return what can be told of *error* as a cause: aiohttp's own hold the request with its headers."""
    return ConnectionError(f"{type(error).__module__}.{type(error).__qualname__}")


def _unreached(passage: Passage, error: Exception) -> Unavailable:
    who, what = passage.who, _what(passage)
    inner = getattr(error, "os_error", error)
    match error, inner:
        case _, AddressRefused():
            return Unavailable(
                f"{who} may not be connected to: {inner}",
                hint="the target's owner can let it be, by `network` in the target",
            )
        case aiohttp.ClientConnectorDNSError(), _:
            return Unavailable(
                f"{who} cannot be found: its name is not known", hint="check the target's `url`, and the DNS"
            )
        case aiohttp.ClientConnectorCertificateError(), _:
            why = getattr(error.certificate_error, "verify_message", "") or "it does not fit"
            return Unavailable(
                f"the certificate of {who} is not trusted: {why}",
                hint="give its authority as `tls.ca`, or the name that it bears as `tls.serverName`",
            )
        case ((aiohttp.ClientSSLError() | ssl.SSLError()), _):
            return Unavailable(f"{who} does not speak TLS as it should", hint="is its `url` right, `https` and port?")
        case _, ConnectionRefusedError():
            return Unavailable(f"nobody listens at {who}", hint="is the service running, and the port right?")
        case (TimeoutError(), _) | (_, TimeoutError()):
            return Unavailable(f"{who} could not be connected to in time", hint="is there a firewall?")
    name = getattr(inner, "strerror", None) or type(inner).__name__
    return Unavailable(f"{who} could not be connected to for {what}: {passage.secrets.clean(str(name))}")


def _unclear(passage: Passage, message: str, *, hint: str = "") -> Error:
    if passage.request.changes:
        return Uncertain(message, hint=hint)
    return Unavailable(message, hint=hint)


def _what(passage: Passage) -> str:
    request = passage.request
    return request.what or f"`{request.method} {request.path.partition('?')[0]}`"


def _words_in(answer: Answer) -> str:
    """Return what the server says, where it says it for people who read errors: no pages."""
    kind = answer.headers.get("content-type", "")
    return answer.body[:4096].decode(errors="replace") if "json" in kind or "text/plain" in kind else ""
