"""
What the API server's refusals mean, as our errors.

The API server says no with a `Status` object: a code, a reason in CamelCase and words.
Everything that is a plain no is a `Rejected`, of which the asker looks at the code.
"""

from __future__ import annotations

import msgspec

from bascule.errors import Error, Refused, Unauthorized, Unavailable, Uncertain

LONGEST_WORDS = 1000
LONGEST_PAUSE = 300.0


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: int = 0


class Status(msgspec.Struct):
    """How the API server says no."""

    reason: str = ""
    message: str = ""
    code: int = 0
    details: _Details | None = None


class Rejected(Refused):
    """The API server said no: *code* as in HTTP, *reason* in its own word (``AlreadyExists``)."""

    def __init__(self, message: str, *, code: int, reason: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.reason = reason


def status_in(body: bytes, code: int) -> Status:
    """Read what the API server says; whatever stands between us and it may say it otherwise."""
    try:
        found = msgspec.json.decode(body, type=Status)
    except (msgspec.MsgspecError, RecursionError):
        found = Status(message=body[:200].decode(errors="replace"))
    words = " ".join("".join(letter if letter.isprintable() else " " for letter in found.message).split())
    return Status(found.reason, words[:LONGEST_WORDS], found.code or code, found.details)


def error_of(what: str, code: int, body: bytes, retry_after: str = "", *, changes: bool) -> Error:
    """Return the error that an answer with *code* is, to a request that is called *what*."""
    status = status_in(body, code)
    words = f"the API server refused {what} ({code}): {status.message or status.reason}"
    if code == 401:
        return Unauthorized(
            f"the API server did not accept the credentials for {what} (401)",
            hint="renew them: see the kubeconfig, or the pod's service account",
        )
    if code in {408, 429, 503}:
        pause = float(retry_after) if retry_after.isdigit() else None
        if pause is None and status.details is not None and status.details.retry_after_seconds:
            pause = float(status.details.retry_after_seconds)
        pause = min(pause, LONGEST_PAUSE) if pause is not None else None
        return Unavailable(f"the API server has no time for {what} ({code}): {status.message}", retry_after=pause)
    if code >= 500:
        kind = Uncertain if changes else Unavailable
        return kind(f"the API server failed at {what} ({code}): {status.message}", hint="see its own log")
    hint = "this account may not do that: give it the right by a Role and a RoleBinding" if code == 403 else ""
    return Rejected(words, code=code, reason=status.reason, hint=hint)
